import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { examplesOf } from "@/tests/support/guide";

type Schema = { properties: Record<string, { const?: string }>; required?: string[] };
type Operation = {
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: Schema & { $ref?: string } }> };
};
type Api = { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } };

const api = JSON.parse(readFileSync("public/openapi.json", "utf8")) as Api;
const swift = examplesOf("native-sign-in").get("Homeport.swift") ?? "";

/** The literal dictionaries of parameters, by the function of the example that contains them. */
function parametersOf(code: string): Record<string, string> {
  const pairs = [...code.matchAll(/"(\w+)": ("[^"]*"|[\w.]+)/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}

/** The body of a function. */
function functionOf(signature: string): string {
  const [, rest = ""] = swift.split(`func ${signature}`);
  expect(rest, signature).not.toBe("");
  return rest.split("\n    }\n", 1)[0] ?? "";
}

/** The schema of a path's body, which has one media type. */
function bodyOf(path: string): Schema {
  const [media] = Object.values(api.paths[path]?.post?.requestBody?.content ?? {});
  if (!media) throw new Error(`${path} takes no body`);
  const named = media.schema.$ref?.split("/").pop();
  return named === undefined ? media.schema : (api.components.schemas[named] ?? { properties: {} });
}

/** The Swift example cannot be compiled on every machine, so its requests are read from its text. */
describe("the Swift example", () => {
  test("opens the authorization endpoint with its parameters", () => {
    const code = functionOf("authorizeURL");
    const [, path = ""] = /appending\(path: "([^"]+)"\)/.exec(code) ?? [];
    const described = api.paths[path]?.get?.parameters?.filter((one) => one.in === "query") ?? [];
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
  ])("sends in %s the parameters that the API describes", (signature, path, names) => {
    const sent = parametersOf(functionOf(signature));
    expect(Object.keys(sent).toSorted()).toEqual(names);
    const { properties, required = [] } = bodyOf(path);
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(sent)));
    expect(Object.keys(sent)).toEqual(expect.arrayContaining(required));
    for (const [name, { const: only }] of Object.entries(properties)) {
      if (only !== undefined && sent[name] !== undefined) expect(sent[name]).toBe(`"${only}"`);
    }
  });

  test("names the paths and the client's redirect URI as the guide registers it", () => {
    const paths = [...swift.matchAll(/"(\/api\/[\w/-]+)"/g)].map(([, path]) => path);
    expect(paths.toSorted()).toEqual([
      "/api/auth/login/factor",
      "/api/auth/oauth/authorize",
      "/api/auth/oauth/revoke",
      "/api/auth/oauth/token",
    ]);
    const clients = JSON.parse(examplesOf("native-sign-in").get("clients.json") ?? "") as {
      id: string;
      redirectUris: string[];
    }[];
    const [, id] = /clientId = "([^"]+)"/.exec(swift) ?? [];
    const [, redirectUri] = /redirectURI = "([^"]+)"/.exec(swift) ?? [];
    expect(clients.find((client) => client.id === id)?.redirectUris).toContain(redirectUri);
  });

  test("decodes members that the responses have", () => {
    const decoded = [...swift.matchAll(/struct (\w+): Decodable[^{]*\{ (.*?) \}/g)].map(([, name, members = ""]) => [
      name,
      [...members.matchAll(/let (\w+):/g)].map(([, member]) => member),
    ]);
    expect(decoded).toEqual([
      ["Token", ["access_token"]],
      ["Auth", ["token"]],
      ["Failure", ["error", "code", "challenge"]],
    ]);
  });
});
