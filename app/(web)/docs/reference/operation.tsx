import { pageContext } from "@/lib/auth/visitor";
import { FieldList } from "../fields/fields";
import { Fields, fieldOf, Type } from "../fields/schema";
import { exampleOf, type SampleRequest, sampleRequest } from "../samples/request";
import {
  api,
  type Content,
  errorCodesOf,
  hasOwnBody,
  isRetired,
  type Operation,
  type Parameter,
  type ResponseObject,
  resolve,
  type Schema,
} from "./document";
import { ErrorCodes } from "./error-codes";
import { Heading } from "./heading";
import { MarkdownText } from "./markdown";
import { Samples } from "./samples";
import { TryIt } from "./try-it";

const PLACES = [
  ["path", "Path parameters"],
  ["query", "Query parameters"],
  ["header", "Request headers"],
  ["cookie", "Cookies"],
] as const;

/** One operation with its parameters, body, responses and samples. */
export function OperationCard({ operation }: { operation: Operation }) {
  const { operationId, method, path, summary, description, requestBody, deprecated, security } = operation;
  const parameters = (operation.parameters ?? []).map((parameter) => resolve<Parameter>(parameter));
  const responses = Object.entries(operation.responses).map(([status, response]) => ({
    status,
    ...resolve<ResponseObject>(response),
  }));
  return (
    <section className="card operation" id={operationId} aria-label={`${summary}: ${method} ${path}`}>
      <Heading level={2} id={`${operationId}-title`} name={summary}>
        {summary}
      </Heading>
      <p className="route">
        <span className="method">{method}</span> <code>{path}</code>{" "}
        {deprecated && <span className="tag">{isRetired(operation) ? "retired" : "deprecated"}</span>}
      </p>
      <p>
        <MarkdownText>{description}</MarkdownText>
      </p>
      {security.length > 0 && <Authentication security={security} />}
      {PLACES.map(([place, title]) => (
        <Parameters key={place} title={title} parameters={parameters.filter((one) => one.in === place)} />
      ))}
      {requestBody && (
        <>
          <h3>Body</h3>
          <Body content={requestBody.content} isExpanded />
        </>
      )}
      <h3>Request</h3>
      <Samples request={sampleRequest(operation, pageContext().config.baseUrl)} />
      {!isRetired(operation) && <TryOperation operation={operation} parameters={parameters} />}
      <h3>Responses</h3>
      {responses.filter(hasOwnBody).map((response) => (
        <ResponseDetails key={response.status} {...response} />
      ))}
      <ErrorCodes errors={responses.flatMap((one) => errorCodesOf(one).map((code) => [one.status, code] as const))} />
    </section>
  );
}

export function Parameters({ title, parameters }: { title: string; parameters: Parameter[] }) {
  if (parameters.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <FieldList fields={parameters.map((one) => fieldOf({ ...one, required: one.required ?? false }))} />
    </>
  );
}

/** Nothing for operations that take files, or that a signature authenticates. */
function TryOperation({ operation, parameters }: { operation: Operation; parameters: Parameter[] }) {
  const { method, path, requestBody, security } = operation;
  const request = sampleRequest(operation, "");
  const isSigned = security.length > 0 && !security.some((one) => "cookie" in one || Object.keys(one).length === 0);
  const isFile = request.body !== undefined && "fileOfType" in request.body;
  if (isFile || (requestBody && !request.body) || isSigned) return null;
  return (
    <TryIt
      method={method}
      path={path}
      parameters={parameters.map((one) => ({
        name: one.name,
        in: one.in,
        required: one.required ?? false,
        example: exampleOf(one),
      }))}
      body={request.body && bodyToTry(request.body)}
    />
  );
}

function bodyToTry(body: NonNullable<SampleRequest["body"]>) {
  if ("fileOfType" in body) return undefined;
  if ("json" in body) return { mediaType: "application/json", text: JSON.stringify(body.json, null, 2) };
  return { mediaType: "application/x-www-form-urlencoded", text: String(new URLSearchParams(body.form)) };
}

function Authentication({ security }: Pick<Operation, "security">) {
  const names = [...new Set(security.flatMap((requirement) => Object.keys(requirement)))];
  const isOptional = security.some((requirement) => Object.keys(requirement).length === 0);
  return (
    <p className="aside">
      {isOptional ? "Optional authentication: " : "Authentication: "}
      {names.map((name, i) => (
        <span key={name} title={api.components.securitySchemes[name]?.description}>
          {i > 0 && (i === names.length - 1 ? " or " : ", ")}
          <a href={`/docs#auth-${name}`}>{name}</a>
        </span>
      ))}
      .
    </p>
  );
}

function ResponseDetails({ status, description, headers = {}, content }: ResponseObject & { status: string }) {
  const names = Object.keys(headers).filter((name) => !COMMON_HEADERS.includes(name));
  return (
    <details>
      <summary>
        <code>{status}</code> <MarkdownText>{description}</MarkdownText>
      </summary>
      {names.length > 0 && (
        <p className="aside">
          Headers: <MarkdownText>{names.map((name) => `\`${name}\``).join(", ")}</MarkdownText>
        </p>
      )}
      {content && <Body content={content} />}
    </details>
  );
}

/** Headers of every response. */
const COMMON_HEADERS = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"];

function Body({ content, isExpanded = false }: { content: Content; isExpanded?: boolean }) {
  return bodiesOf(content).map(({ mediaTypes, schema, examples = {} }) => (
    <div key={mediaTypes.join()}>
      <p className="aside">
        <MarkdownText>{mediaTypes.map((mediaType) => `\`${mediaType}\``).join(" or ")}</MarkdownText>
        {schema && (
          <>
            : <Type schema={schema} />
          </>
        )}
      </p>
      {schema && <Fields schema={isExpanded ? resolve<Schema>(schema) : schema} />}
      {Object.entries(examples).map(([name, { summary, value }]) => (
        <details key={name} open={!isExpanded}>
          <summary>{summary}</summary>
          <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 2)}</pre>
        </details>
      ))}
    </div>
  ));
}

/** The bodies of a response. Media types with the same schema and examples are merged. */
function bodiesOf(content: Content) {
  const own = Object.entries(content).filter(([mediaType]) => mediaType !== "application/problem+json");
  const distinct = new Map(own.map(([, body]) => [JSON.stringify(body), body]));
  return [...distinct].map(([text, body]) => ({
    ...body,
    mediaTypes: own.filter(([, other]) => JSON.stringify(other) === text).map(([mediaType]) => mediaType),
  }));
}
