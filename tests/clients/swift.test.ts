import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { EVIDENCE_REASONS } from "@/lib/push/evidence/errors";

type Schema = {
  $ref?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  const?: string;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
};
type Media = { content?: Record<string, { schema: Schema }> };
type Operation = { parameters?: { name: string; in: string }[]; requestBody?: Media; responses: Record<string, Media> };
type Api = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } };

const DEVICE = "/api/push/devices/{deviceId}";
const api = JSON.parse(readFileSync("public/openapi.json", "utf8")) as Api;
const files = swiftFilesOf("clients/swift/Sources");
const example = swiftFilesOf("examples/swiftui");
const swift = [...files.values()].join("\n");

/** The text of the Swift files below a folder, by their names. */
function swiftFilesOf(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".swift"));
  return new Map(names.map((name) => [path.basename(name), readFileSync(path.join(folder, name), "utf8")]));
}

/** A schema without its reference, with the properties of all alternatives. */
function resolve(schema: Schema = {}): Schema {
  if (schema.$ref) return resolve(api.components.schemas[schema.$ref.split("/").pop() ?? ""]);
  const alternatives = (schema.oneOf ?? schema.anyOf ?? []).map((one) => resolve(one).properties);
  return { ...schema, properties: Object.assign({}, schema.properties, ...alternatives) };
}

const contentOf = (media: Media | undefined) => resolve(Object.values(media?.content ?? {})[0]?.schema);
const bodyOf = (to: string, method = "post") => contentOf(api.paths[to]?.[method]?.requestBody);
const responseOf = (method: string, to: string, status = 200) => contentOf(api.paths[to]?.[method]?.responses[status]);

function functionOf(signature: string): string {
  const [, rest = ""] = swift.split(`func ${signature}`);
  expect(rest, signature).not.toBe("");
  return rest.split("\n  }\n", 1)[0] ?? "";
}

/** The literal entries of a dictionary. */
const entriesOf = (code: string): Record<string, string> =>
  Object.fromEntries(
    [...code.matchAll(/"(\w+)": ("[^"]*"|[\w.]+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );

/** The stored properties of a structure, without those of structures inside it. */
function fieldsOf(structure: string): string[] {
  const [, indent = "", rest = ""] =
    new RegExp(`^( *)[\\w ]*struct ${structure}\\b[^{]*\\{([\\s\\S]*)`, "m").exec(swift) ?? [];
  const code = rest.split("}", 1)[0]?.includes("\n")
    ? (rest.split(`\n${indent}}`, 1)[0] ?? "")
    : (rest.split("}", 1)[0] ?? "");
  const fields = code.replaceAll(/struct \w+[^{]*\{[^}]*\}/g, "").matchAll(/\b(?:let|var) ([\w, ]+):/g);
  return [...fields].flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()));
}

/** HomeportKit cannot be compiled on every machine, so its requests are read from its text. */
describe("HomeportKit", () => {
  test("requests routes that exist, with query parameters that they have", () => {
    const sent = [...swift.matchAll(/send\(\s*"([A-Z]+)", "([^"]+)"/g)].map(([, method, to]) => [
      method,
      to?.replaceAll(/\\\((\w+)\)/g, "{$1}"),
    ]);
    const read = [...swift.matchAll(/\bget\("([^"]+)"/g)].map(([, to]) => ["GET", to]);
    const requests = [...sent, ...read] as [string, string][];
    expect(requests.length).toBeGreaterThan(6);
    expect(requests.filter(([method, to]) => !api.paths[to]?.[method.toLowerCase()])).toEqual([]);
  });

  test("opens the authorization endpoint with its parameters", () => {
    const code = functionOf("authorizeURL");
    const [, to = ""] = /appending\(path: "([^"]+)"\)/.exec(code) ?? [];
    const described = api.paths[to]?.get?.parameters?.filter((one) => one.in === "query") ?? [];
    const sent = [...code.matchAll(/URLQueryItem\(name: "(\w+)"/g)].map(([, name]) => name);
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.toSorted()).toEqual(described.map(({ name }) => name).toSorted());
  });

  test.each([
    ["signIn(_ browser", "/api/auth/oauth/token", ["client_id", "code", "code_verifier", "grant_type", "redirect_uri"]],
    [
      "signIn(appleIdToken",
      "/api/auth/oauth/token",
      ["authorization_code", "client_id", "grant_type", "name", "nonce", "subject_token", "subject_token_type"],
    ],
    ["signIn(challenge", "/api/auth/login/factor", ["challenge", "code"]],
    ["signOut", "/api/auth/oauth/revoke", ["client_id", "token"]],
  ])("sends in %s the parameters that the API describes", (signature, to, names) => {
    const sent = entriesOf(functionOf(signature));
    expect(Object.keys(sent).toSorted()).toEqual(names);
    const { properties = {}, required = [] } = bodyOf(to);
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(sent)));
    expect(Object.keys(sent)).toEqual(expect.arrayContaining(required));
    for (const [name, { const: only }] of Object.entries(properties)) {
      if (only !== undefined && sent[name] !== undefined) expect(sent[name]).toBe(`"${only}"`);
    }
  });

  test.each([
    ["Registration", bodyOf("/api/push/register")],
    ["About", resolve(bodyOf("/api/push/register").properties?.device)],
    ["Evidence", resolve(bodyOf("/api/push/register").properties?.evidence)],
    ["LiveActivityToken", bodyOf(`${DEVICE}/live-activities/{activityId}`, "put")],
    ["LiveActivityStartToken", bodyOf(`${DEVICE}/live-activity-start-tokens/{attributesType}`, "put")],
    ["Registered", responseOf("post", "/api/push/register", 202)],
    ["Token", responseOf("post", "/api/auth/oauth/token")],
    ["Auth", responseOf("post", "/api/auth/login/factor")],
    ["Session", responseOf("get", "/api/auth/session")],
    ["User", resolve(responseOf("get", "/api/auth/session").properties?.user)],
    ["SubscriptionStatus", responseOf("get", "/api/subscription/status")],
    ["Entitlement", resolve(responseOf("get", "/api/subscription/status").properties?.entitlements?.items)],
    ["Issued", responseOf("get", "/api/subscription/token")],
    ["KeySet", responseOf("get", "/.well-known/jwks.json")],
  ])("has in %s the fields that the API describes", (structure, schema) => {
    const fields = fieldsOf(structure);
    expect(fields.length).toBeGreaterThan(0);
    expect(Object.keys(schema.properties ?? {})).toEqual(expect.arrayContaining(fields));
  });

  test("handles only reasons that exist", () => {
    const handled = [...swift.matchAll(/\("evidence_invalid", "(\w+)"\)/g)].map(([, reason = ""]) => reason);
    expect(handled.length).toBeGreaterThan(3);
    expect(handled.filter((reason) => !Object.hasOwn(EVIDENCE_REASONS, reason))).toEqual([]);
  });

  test("has the functions that the example calls, with their labels", () => {
    const code = [...example.values()].join("\n");
    const calls = [...code.matchAll(/\b(?:homeport|stored)\.(\w+)\((?:(\w+):)?/g)];
    expect(calls.length).toBeGreaterThan(4);
    const unknown = calls.filter(([, name, label]) => {
      const declared = [...swift.matchAll(new RegExp(`public (?:mutating )?func ${name}\\((\\w*)`, "g"))];
      return !declared.some(([, first]) => label === undefined || first === label);
    });
    expect(unknown.map(([call]) => call)).toEqual([]);
  });

  const guide = readFileSync("docs/guides/push-ios.md", "utf8").matchAll(
    /^```swift\n\/\/ (\w+\.swift)\n([\s\S]*?)^```$/gm,
  );
  test.each([...files, ...example, ...[...guide].map(([, name = "", code = ""]) => [name, code] as const)])(
    "%s imports its frameworks and has balanced brackets",
    (name, code) => {
      const FRAMEWORKS: Record<string, RegExp> = {
        ActivityKit: /\bActivity<|\bActivityAttributes\b|\bActivityContent\b/,
        AuthenticationServices: /\bWebAuthenticationSession\b/,
        CryptoKit: /\bSHA256\b|\bP256\b|\bCurve25519\b/,
        DeviceCheck: /\bDC[A-Z]\w+/,
        Security: /\bkSec\w+|\bSecItem\w+/,
        Sparkle: /\bSPU\w+/,
        UIKit: /\bUI[A-Z]\w+/,
        UserNotifications: /\bUN[A-Z]\w+/,
      };
      const used = Object.entries(FRAMEWORKS).filter(([, uses]) => uses.test(code.replaceAll(/(\/\/|#if).*$/gm, "")));
      const imported = [...code.matchAll(/^ *import (\w+)$/gm)].map(([, framework]) => framework);
      expect({ name, imported }).toEqual({
        name,
        imported: expect.arrayContaining(used.map(([framework]) => framework)),
      });
      for (const [open, close] of ["{}", "()", "[]"]) {
        expect(code.split(open ?? "").length, `${open} in ${name}`).toBe(code.split(close ?? "").length);
      }
    },
  );
});
