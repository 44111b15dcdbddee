import { ERRORS, type ErrorCode } from "@/lib/errors";
import { ERROR_DESCRIPTIONS } from "../errors/descriptions";
import { type Described, detailsOf, propertiesOf, typeOf } from "../fields/describe";
import type { Piece } from "../fields/inline";
import { sampleRequest } from "../samples/request";
import { curlSample } from "../samples/samples";
import {
  api,
  type Content,
  errorCodesOf,
  hasOwnBody,
  type Operation,
  type Parameter,
  type ResponseObject,
  resolve,
  type Schema,
} from "./document";
import { findGroup } from "./groups";
import { PAGES } from "./pages";

/** Stands for the service's URL: the pages are the same for every service. */
const BASE_URL = "https://example.com";

/** The pages of the reference as Markdown (CommonMark 0.31), by their paths. */
export function markdownPages(): Map<string, string> {
  return new Map(PAGES.map(({ slug, title, intro, markdown }) => [markdown, pageOf(slug, title, intro)]));
}

function pageOf(slug: string, title: string, intro: string): string {
  const head = [`# ${slug === "" ? "API reference" : title}`, intro];
  return `${[...head, ...contentOf(slug)].filter(Boolean).join("\n\n")}\n`;
}

function contentOf(slug: string): string[] {
  if (slug === "") return overview();
  if (slug === "webhooks") return webhooks();
  if (slug === "schemas")
    return Object.entries(api.components.schemas).flatMap(([name, schema]) => schemaOf(name, schema));
  if (slug === "errors") return (Object.keys(ERRORS) as ErrorCode[]).map(errorOf);
  const parts = PAGES.filter((page) => page.slug.startsWith(`${slug}/`));
  return [listOfPages(parts), ...(findGroup(slug)?.operations ?? []).flatMap(describeOperation)];
}

const listOfPages = (pages: typeof PAGES) =>
  pages.map(({ title, markdown, intro }) => `- [${title}](${markdown}): ${intro}`).join("\n");

function overview(): string[] {
  const schemes = Object.entries(api.components.securitySchemes).map(
    ([name, { description }]) => `- \`${name}\`: ${description}`,
  );
  return [
    `All of it in one file: [openapi.json](/openapi.json) (OpenAPI 3.1). In the samples, replace \`${BASE_URL}\` by the URL of this service.`,
    "## Authentication",
    schemes.join("\n"),
    "## Conventions",
    api.info.description,
    "## Pages",
    listOfPages(PAGES.filter(({ slug }) => slug !== "")),
  ];
}

function describeOperation(operation: Operation): string[] {
  const { operationId, method, path, summary, description, deprecated, requestBody } = operation;
  const parameters = (operation.parameters ?? []).map((one) => resolve<Parameter>(one));
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, resolve<ResponseObject>(response)] as const,
  );
  const errors = responses.flatMap(([status, one]) => errorCodesOf(one).map((code) => `\`${code}\` (${status})`));
  return [
    `## ${summary}`,
    `\`${method} ${path}\`${deprecated ? ", deprecated" : ""}. Operation ID: \`${operationId}\`.`,
    description,
    authenticationOf(operation),
    parameters.length > 0 ? `### Parameters\n\n${parameters.map(parameterOf).join("\n")}` : "",
    ...(requestBody ? ["### Body", ...bodiesOf(requestBody.content, true)] : []),
    "### Sample",
    fence("sh", curlSample(sampleRequest(operation, BASE_URL))),
    "### Responses",
    ...responses.filter(([, one]) => hasOwnBody(one)).flatMap(responseOf),
    errors.length > 0 ? `Errors: ${errors.join(", ")}.` : "",
  ];
}

function authenticationOf({ security }: Operation): string {
  const names = new Set(security.flatMap((requirement) => Object.keys(requirement)));
  if (names.size === 0) return "";
  const isOptional = security.some((requirement) => Object.keys(requirement).length === 0);
  const list = [...names].map((name) => `\`${name}\``).join(" or ");
  return `${isOptional ? "Optional authentication" : "Authentication"}: ${list}.`;
}

const parameterOf = ({ required = false, in: place, ...parameter }: Parameter) =>
  fieldOf({ required, ...parameter }, `, in the ${place}`);

const responseOf = ([status, { description, content = {} }]: readonly [string, ResponseObject]) => [
  `**${status}**: ${description}`,
  ...bodiesOf(content, false),
];

/** The bodies of a request or response. A named schema's own fields are on the page of schemas, unless `isExpanded`. */
function bodiesOf(content: Content, isExpanded: boolean): string[] {
  const own = Object.entries(content).filter(([mediaType]) => mediaType !== "application/problem+json");
  return own.flatMap(([mediaType, { schema, examples = {} }]) => [
    `\`${mediaType}\`${schema ? `: ${typeText(schema)}` : ""}`,
    schema ? fieldsOf(isExpanded ? resolve<Schema>(schema) : schema) : "",
    ...Object.values(examples).map(({ summary, value }) =>
      typeof value === "string" ? fence("", value) : `${summary}:\n\n${fence("json", JSON.stringify(value, null, 2))}`,
    ),
  ]);
}

const fieldsOf = (schema: Schema, indent = ""): string =>
  propertiesOf(schema)
    .map((field) => fieldOf(field, "", indent))
    .join("\n");

/** An entry of a list, with the fields of an object in it as a list of their own. */
function fieldOf({ name, required, schema, description = "" }: Described, place: string, indent = ""): string {
  const type = `${typeText(schema)}${place}${required ? ", required" : ""}`;
  const text = `${description.replace(/\s+/g, " ")}${textOf(detailsOf(schema))}`.trim();
  const own = fieldsOf(schema, `${indent}  `);
  return `${indent}- \`${name}\`: ${type}${text ? `. ${text}` : ""}${own && `\n${own}`}`;
}

const typeText = (schema: Schema) => textOf(typeOf(schema));

const textOf = (pieces: readonly Piece[]) =>
  pieces
    .map((piece) => {
      if (typeof piece === "string") return piece;
      return "code" in piece ? `\`${piece.code}\`` : `[${piece.schema}](/docs/schemas.md)`;
    })
    .join("");

function schemaOf(name: string, schema: Schema): string[] {
  const variants = (schema.anyOf ?? schema.oneOf ?? [schema]).map((one) => fieldsOf(one) || typeText(one));
  return [`## ${name}`, schema.description ?? "", ...variants];
}

const errorOf = (code: ErrorCode) =>
  `## ${code}\n\nStatus ${ERRORS[code][0]}. ${ERRORS[code][1]}. ${ERROR_DESCRIPTIONS[code]}`;

/** All events have the same headers and responses. */
function webhooks(): string[] {
  const events = Object.entries(api.webhooks);
  const shared = events[0]?.[1].post;
  const parameters = (shared?.parameters ?? []).map((one) => parameterOf(resolve<Parameter>(one)));
  return [
    shared?.description ?? "",
    parameters.join("\n"),
    ...events.flatMap(([type, { post }]) => [
      `## ${type}`,
      `${post.summary}.`,
      ...bodiesOf(post.requestBody?.content ?? {}, true),
    ]),
  ];
}

/** A code block. Its fence is longer than every run of backticks in the text. */
function fence(language: string, text: string): string {
  const runs = text.match(/`+/g) ?? [];
  const marks = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${marks}${language}\n${text}\n${marks}`;
}
