import { randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, stat, utimes } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { buffer, text } from "node:stream/consumers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { UsageError } from "@/scripts/command-line";
import { createUploadIdStore, uploadFile } from "@/scripts/homeport/release/upload";
import { createHttpClient } from "@/scripts/homeport/transport/http-client";
import { authorizeJob } from "@/scripts/homeport/transport/job-access";
import { listenForTest } from "@/tests/support/network/listen";
import { build, newFolder } from "@/tests/support/releases/publishing";

const PUBLISHER = {
  name: "acme/app",
  product: "core",
  channel: "stable",
  source: { repository: "acme/app", commit: "1a2b3c4d5e6f", ref: "refs/tags/v1.4.0" },
};
const LIFE_MS = 15 * 60_000;
const WORKING_AT = Date.parse("2026-11-20T09:00:00Z");

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: WORKING_AT });
  return () => void vi.useRealTimers();
});

const INVALID = {
  error: "invalid_request",
  error_description: "Not valid. Ask about 01",
  error_uri: "https://x/docs/errors#invalid_id_token",
};

type Reply = [status: number, body: object];

/** A service that issues access tokens, keeps an upload, and gives ID tokens as GitHub Actions does. */
async function startService() {
  const seen = {
    idTokenRequests: [] as IncomingMessage[],
    exchanges: [] as Record<string, string>[],
    bearers: [] as string[],
  };
  const next: { exchange: Reply[]; idToken: Reply[]; isAnswerLost: boolean; onPart: () => void } = {
    exchange: [],
    idToken: [],
    isAnswerLost: false,
    onPart: () => {},
  };
  const issue = (): Reply => [
    200,
    {
      access_token: `access-${seen.exchanges.length}`,
      token_type: "Bearer",
      expires_in: LIFE_MS / 1000,
      publisher: PUBLISHER,
    },
  ];
  const used = new Set<string | undefined>();
  const exchange = (form: Record<string, string>): Reply => {
    seen.exchanges.push(form);
    const reply = next.exchange.shift();
    if (reply) return reply;
    if (used.has(form.subject_token)) return [400, INVALID];
    used.add(form.subject_token);
    return issue();
  };
  let received = 0;
  let size = 0;
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const send = ([status, body]: Reply) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.url?.startsWith("/actions?")) {
      seen.idTokenRequests.push(request);
      return send(next.idToken.shift() ?? [200, { value: randomUUID() }]);
    }
    if (request.url === "/api/auth/oauth/token") {
      const reply = exchange(Object.fromEntries(new URLSearchParams(await text(request))));
      if (!next.isAnswerLost) return send(reply);
      next.isAnswerLost = false;
      return request.socket.destroy();
    }
    seen.bearers.push(request.headers.authorization ?? "");
    if (request.method === "POST") size = Number(request.headers["upload-length"]);
    if (request.method === "PATCH") {
      received += (await buffer(request)).length;
      next.onPart();
    }
    const headers = {
      location: `/api/admin/uploads/${randomUUID()}`,
      "upload-offset": received,
      "upload-length": size,
    };
    const status = { POST: 201, PATCH: 204 }[request.method ?? ""] ?? 200;
    return response.writeHead(status, headers).end(request.method === "GET" ? "{}" : undefined);
  };
  const server = createServer((request, response) => void respond(request, response));
  const url = `http://${await listenForTest(server)}`;
  const actions = {
    ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/actions?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of-the-job",
  };
  const clientOf = (env: Record<string, string>, product?: string) =>
    createHttpClient(url, authorizeJob(url, env as NodeJS.ProcessEnv, product), 1);
  return { url, seen, next, actions, clientOf };
}

const GET = { method: "GET", path: "/" };
const cacheFolder = async () => (await newFolder()).folder;

/** What the command prints on stderr. */
function listenToNotes(): string[] {
  const notes: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((note) => notes.push(String(note)) > 0);
  return notes;
}

describe("in GitHub Actions", () => {
  test("the job's ID token for this service becomes an access token, and the command says for what", async () => {
    const { url, seen, actions, clientOf } = await startService();
    const notes = listenToNotes();
    const client = clientOf(actions);
    await client.json(GET);
    await client.json(GET);
    vi.restoreAllMocks();
    const [request] = seen.idTokenRequests;
    expect([request?.url, request?.headers.authorization]).toEqual([
      `/actions?api-version=2.0&audience=${encodeURIComponent(url)}`,
      "Bearer of-the-job",
    ]);
    expect(seen.exchanges).toEqual([
      {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token: expect.any(String),
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
      },
    ]);
    expect(seen.bearers).toEqual(["Bearer access-1", "Bearer access-1"]);
    expect(notes).toEqual([
      "This job is the publisher acme/app (refs/tags/v1.4.0, commit 1a2b3c4). It may read and change the releases of core on the channel stable, for 15 minutes at a time.\n",
    ]);
  });

  test("the token is renewed during an upload that takes longer than it lives", async () => {
    const { seen, next, actions, clientOf } = await startService();
    next.onPart = () => vi.setSystemTime(Date.now() + LIFE_MS - 59_000);
    const testFolder = await newFolder();
    const bytes = randomBytes(20_000_000);
    const upload = {
      file: await build(testFolder, "setup.exe", bytes),
      fileName: "setup.exe",
      sizeBytes: bytes.length,
      sha256: "",
    };
    await uploadFile(clientOf(actions), createUploadIdStore(path.join(testFolder.folder, "cache")), upload);
    const [created, offset, first, second, third] = seen.bearers.map((bearer) => bearer.replace("Bearer access-", ""));
    expect([created, offset, first, second, third]).toEqual(["1", "1", "1", "2", "3"]);
    expect(new Set(seen.exchanges.map(({ subject_token }) => subject_token)).size).toBe(3);
  });

  test("a failure that passes is tried again, with a new ID token each time", async () => {
    const { seen, next, actions, clientOf } = await startService();
    next.idToken.push([503, {}]);
    next.exchange.push([503, { error: "temporarily_unavailable", error_description: "No" }]);
    await clientOf(actions).json(GET);
    expect(seen.exchanges.length).toBe(2);
    expect(new Set(seen.exchanges.map(({ subject_token }) => subject_token)).size).toBe(2);
  });

  test.each<[string, Partial<Record<"exchange" | "idToken", Reply>>, string, string]>([
    [
      "a publisher that the service does not know",
      { exchange: [400, INVALID] },
      "invalid_id_token",
      "Not valid. Ask about 01",
    ],
    ["a job whose permission was withdrawn", { idToken: [403, {}] }, "id_token_unavailable", "403"],
    ["an ID token that is none", { idToken: [200, { value: 7 }] }, "id_token_unavailable", "the response has none"],
    [
      "a page in place of an access token",
      { exchange: [200, { page: 1 }] },
      "invalid_response",
      "Is it the URL of the service?",
    ],
  ])("%s ends the command, after one attempt", async (_, { exchange, idToken }, code, message) => {
    const { seen, next, actions, clientOf } = await startService();
    if (exchange) next.exchange.push(exchange);
    if (idToken) next.idToken.push(idToken);
    const testFolder = await newFolder();
    const upload = {
      file: await build(testFolder, "setup.exe", Buffer.from("setup")),
      fileName: "setup.exe",
      sizeBytes: 5,
      sha256: "",
    };
    const failed = expect(uploadFile(clientOf(actions), createUploadIdStore(testFolder.folder), upload)).rejects;
    await failed.toMatchObject({ code, message: expect.stringContaining(message) });
    expect([seen.idTokenRequests.length, seen.bearers]).toEqual([1, []]);
  });
});

describe("ID tokens that a job has in variables", () => {
  test("work once each, for all commands of the job in their time", async () => {
    const { seen, clientOf } = await startService();
    const env = { XDG_CACHE_HOME: await cacheFolder(), HOMEPORT_ID_TOKEN_2: "second", HOMEPORT_ID_TOKEN: "first" };
    await clientOf(env).json(GET);
    vi.setSystemTime(WORKING_AT + LIFE_MS / 2);
    await clientOf(env).json(GET);
    expect(seen.exchanges.map(({ subject_token }) => subject_token)).toEqual(["first"]);
    const client = clientOf(env);
    await client.json(GET);
    vi.setSystemTime(WORKING_AT + LIFE_MS);
    await client.json(GET);
    expect(seen.exchanges.map(({ subject_token }) => subject_token)).toEqual(["first", "second"]);
    vi.setSystemTime(WORKING_AT + 2 * LIFE_MS);
    await expect(client.json(GET)).rejects.toMatchObject({
      code: "id_token_used",
      message: expect.stringContaining("HOMEPORT_ID_TOKEN_3"),
    });
    expect(seen.bearers).toEqual([1, 1, 1, 2].map((n) => `Bearer access-${n}`));
  });

  test("are exchanged one after the other until one is accepted, if the answer to an exchange was lost", async () => {
    const { seen, next, clientOf } = await startService();
    const XDG_CACHE_HOME = await cacheFolder();
    next.isAnswerLost = true;
    const alone = clientOf({ XDG_CACHE_HOME, HOMEPORT_ID_TOKEN: "first" });
    await expect(alone.json(GET)).rejects.toMatchObject({ code: "invalid_id_token" });
    const env = { XDG_CACHE_HOME, HOMEPORT_ID_TOKEN: "first", HOMEPORT_ID_TOKEN_2: "second" };
    for (const _ of ["once", "again"]) await clientOf(env).json(GET);
    const sent = seen.exchanges.map(({ subject_token }) => subject_token);
    expect(sent).toEqual(["first", "first", "first", "second"]);
    expect(seen.bearers).toEqual(["Bearer access-4", "Bearer access-4"]);
  });

  test("stay unused if the service needs to know the product", async () => {
    const { seen, next, clientOf } = await startService();
    next.exchange.push([
      400,
      { ...INVALID, error_description: "audience: Required", error_uri: "https://x/docs/errors#validation_failed" },
    ]);
    const env = { XDG_CACHE_HOME: await cacheFolder(), HOMEPORT_ID_TOKEN: "first", HOMEPORT_ID_TOKEN_2: "second" };
    await expect(clientOf(env).json(GET)).rejects.toMatchObject({ code: "validation_failed" });
    expect(seen.exchanges.map(({ subject_token }) => subject_token)).toEqual(["first"]);
  });

  test("are for one product each, if the job publishes several", async () => {
    const { seen, clientOf } = await startService();
    const env = { XDG_CACHE_HOME: await cacheFolder(), HOMEPORT_ID_TOKEN: "first", HOMEPORT_ID_TOKEN_2: "second" };
    for (const product of ["core", "tools", "core", "tools", undefined]) await clientOf(env, product).json(GET);
    expect(seen.exchanges.map(({ subject_token, audience }) => [subject_token, audience])).toEqual([
      ["first", "core"],
      ["second", "tools"],
    ]);
  });

  test("are not stored; access tokens are, for their owner alone and a day", async () => {
    const { clientOf } = await startService();
    const XDG_CACHE_HOME = await cacheFolder();
    const folder = path.join(XDG_CACHE_HOME, "homeport-publisher");
    const kept = async () => Promise.all((await readdir(folder)).map((name) => path.join(folder, name)));
    await clientOf({ XDG_CACHE_HOME, HOMEPORT_ID_TOKEN: "of-yesterday" }).json(GET);
    const [file = ""] = await kept();
    expect([(await stat(file)).mode & 0o777, (await stat(folder)).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(file + (await readFile(file, "utf8"))).not.toContain("of-yesterday");
    await utimes(file, new Date(WORKING_AT), new Date(WORKING_AT - 25 * 60 * 60_000));
    await clientOf({ XDG_CACHE_HOME, HOMEPORT_ID_TOKEN: "of-today" }).json(GET);
    expect(await kept()).toEqual([expect.not.stringContaining(file)]);
  });
});

test.each([
  [{}, "homeport keys create"],
  [{ GITHUB_ACTIONS: "true" }, "id-token: write"],
  [{ GITLAB_CI: "true" }, '{ HOMEPORT_ID_TOKEN: { aud: "https://updates.example.com" } }'],
  [{ GITLAB_CI: "true", HOMEPORT_ID_TOKEN: "" }, "HOMEPORT_ID_TOKEN"],
])("with only %o, the command says what is missing", (env, message) => {
  const authorize = () => authorizeJob("https://updates.example.com/", env as unknown as NodeJS.ProcessEnv);
  expect(authorize).toThrow(UsageError);
  expect(authorize).toThrow(message);
});
