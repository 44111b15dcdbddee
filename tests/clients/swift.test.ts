import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { EVIDENCE_REASONS } from "@/lib/push/evidence/errors";

type Schema = {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
};
type Media = { content?: Record<string, { schema: Schema }> };
type Operation = { requestBody?: Media; responses: Record<string, Media> };
type Api = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } };

const DEVICE = "/api/push/devices/{deviceId}";
const api = JSON.parse(readFileSync("public/openapi.json", "utf8")) as Api;
const SOURCES = "clients/swift/Sources";
const swift = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".swift"))
  .map((name) => readFileSync(path.join(SOURCES, name), "utf8"))
  .join("\n");

/** A schema without its reference, with the properties of all alternatives. */
function resolve(schema: Schema = {}): Schema {
  if (schema.$ref) return resolve(api.components.schemas[schema.$ref.split("/").pop() ?? ""]);
  const alternatives = (schema.oneOf ?? schema.anyOf ?? []).map((one) => resolve(one).properties);
  return { ...schema, properties: Object.assign({}, schema.properties, ...alternatives) };
}

const contentOf = (media: Media | undefined) => resolve(Object.values(media?.content ?? {})[0]?.schema);
const bodyOf = (to: string, method = "post") => contentOf(api.paths[to]?.[method]?.requestBody);
const responseOf = (method: string, to: string, status = 200) => contentOf(api.paths[to]?.[method]?.responses[status]);
const isNullable = ({ type, anyOf }: Schema) => type?.includes("null") || anyOf?.some((one) => one.type === "null");

type Field = { name: string; isOptional: boolean };

/** The stored properties of a structure, without those of structures inside it. */
function fieldsOf(structure: string): Field[] {
  const [, indent = "", rest = ""] =
    new RegExp(`^( *)[\\w ]*struct ${structure}\\b[^{]*\\{([\\s\\S]*)`, "m").exec(swift) ?? [];
  const code = rest.split("}", 1)[0]?.includes("\n")
    ? (rest.split(`\n${indent}}`, 1)[0] ?? "")
    : (rest.split("}", 1)[0] ?? "");
  const own = code.replaceAll(/struct \w+[^{]*\{[^}]*\}|^.*(?:static|func) .*$|\/\/.*$/gm, "");
  const fields: Field[] = [];
  for (const [, list = ""] of own.matchAll(/\b(?:let|var) (\w.*)$/gm)) {
    let names: string[] = [];
    for (const part of list.replace(/[{=].*/, "").split(",")) {
      const [name = "", type] = part.split(":").map((one) => one.trim());
      names.push(name);
      if (type === undefined) continue;
      fields.push(...names.map((one) => ({ name: one, isOptional: type.endsWith("?") })));
      names = [];
    }
  }
  return fields;
}

const namesOf = (structure: string) => fieldsOf(structure).map(({ name }) => name);

/** What the compiler does not see: a field that the API lacks is nil, and one that may be null is an error. */
describe("HomeportKit", () => {
  test("requests routes that exist", () => {
    const requests = [...swift.matchAll(/\b(?:request|send)\("([A-Z]+)", "([^"]+)"/g)].map(
      ([, method = "", to = ""]) => [
        method.toLowerCase(),
        to.replaceAll("\\(id)", "{deviceId}").replaceAll(/\\\((\w+)\)/g, "{$1}"),
      ],
    ) as [string, string][];
    expect(requests.length).toBeGreaterThan(12);
    expect(requests.filter(([method, to]) => !api.paths[to]?.[method])).toEqual([]);
  });

  test.each([
    ["Registration", bodyOf("/api/push/register")],
    ["DeviceDescription", resolve(bodyOf("/api/push/register").properties?.device)],
    ["Evidence", resolve(bodyOf("/api/push/register").properties?.evidence)],
    ["LiveActivityToken", bodyOf(`${DEVICE}/live-activities/{activityId}`, "put")],
    ["LiveActivityStartToken", bodyOf(`${DEVICE}/live-activity-start-tokens/{attributesType}`, "put")],
    ["Proof", bodyOf("/api/auth/account/delete")],
  ])("sends in %s the fields that the API takes, and those that it needs", (structure, schema) => {
    const fields = namesOf(structure);
    expect(fields.length).toBeGreaterThan(0);
    expect(Object.keys(schema.properties ?? {})).toEqual(expect.arrayContaining(fields));
    expect(fields).toEqual(expect.arrayContaining(schema.required ?? []));
  });

  test.each([
    ["Registered", responseOf("post", "/api/push/register", 202)],
    ["Device", resolve(responseOf("get", "/api/push/devices").properties?.devices?.items)],
    ["Challenge", resolve(responseOf("post", "/api/push/register", 202).properties?.challenge)],
    ["Token", responseOf("post", "/api/auth/oauth/token")],
    ["Auth", responseOf("post", "/api/auth/login/factor")],
    ["User", resolve(responseOf("get", "/api/auth/session").properties?.user)],
    ["AccountDeletion", responseOf("post", "/api/auth/account/delete")],
    ["Subscription", resolve(responseOf("post", "/api/auth/account/delete").properties?.subscriptions?.items)],
    ["SubscriptionStatus", responseOf("get", "/api/subscription/status")],
    ["Entitlement", resolve(responseOf("get", "/api/subscription/status").properties?.entitlements?.items)],
    ["Issued", responseOf("get", "/api/subscription/token")],
    ["KeySet", responseOf("get", "/.well-known/jwks.json")],
    ["Field", resolve(resolve(api.components.schemas.Problem).properties?.errors?.items)],
  ])("reads from %s fields that the API returns, and needs none that it may leave out", (structure, schema) => {
    const fields = fieldsOf(structure);
    expect(fields.length).toBeGreaterThan(0);
    expect(Object.keys(schema.properties ?? {})).toEqual(expect.arrayContaining(fields.map(({ name }) => name)));
    const needed = fields.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
    expect(schema.required).toEqual(expect.arrayContaining(needed));
    expect(needed.filter((name) => isNullable(schema.properties?.[name] ?? {}))).toEqual([]);
  });

  test("handles only reasons that exist", () => {
    const handled = [...swift.matchAll(/\("evidence_invalid", "(\w+)"\)/g)].map(([, reason = ""]) => reason);
    expect(handled.length).toBeGreaterThan(3);
    expect(handled.filter((reason) => !Object.hasOwn(EVIDENCE_REASONS, reason))).toEqual([]);
  });
});
