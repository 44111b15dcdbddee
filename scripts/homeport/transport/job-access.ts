import { createHash } from "node:crypto";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { ID_TOKEN_TYPE, TOKEN_EXCHANGE_GRANT, TokenResponse } from "../../../lib/auth/authorization-server/schema";
import { CommandError } from "../../../lib/errors";
import { readJsonFile, writeDurably } from "../../../lib/platform/files/durable";
import { UsageError } from "../../command-line";
import { printable } from "../output";
import { type ApiResponse, type Authorize, clientOf, parseBaseUrl, toError } from "./http-client";
import { requestOf } from "./operations";

/** An access token, and what it permits in words. `product`: the one that was asked for; a job may publish several. */
const Access = z.object({
  token: z.string(),
  endsAtMs: z.number(),
  product: z.string().optional(),
  identity: z.string(),
});
type Access = z.infer<typeof Access>;

/** No request begins with an access token that ends sooner. */
const MIN_REMAINING_MS = 60_000;
/** No job has an ID token for longer. */
const KEPT_MS = 24 * 60 * 60 * 1000;
const TIMEOUT_MS = 60_000;
const HTTP_GET = "GET";

/**
 * Lets a CI job act as a publisher, without an API key: exchanges its ID token for access tokens of a few minutes (RFC 8693).
 * GitHub Actions issues ID tokens whenever they are requested. Others put them into HOMEPORT_ID_TOKEN, HOMEPORT_ID_TOKEN_2
 * and so on, each of which works once. Says on stderr who the job is and what it may do.
 * @throws UsageError outside of a job with an ID token
 */
export function authorizeJob(serviceUrl: string, env: NodeJS.ProcessEnv, product?: string): Authorize {
  const exchange = accessSource({ url: parseBaseUrl(serviceUrl), product }, env);
  let access: Access | null = null;
  return async () => {
    if (access && isUsable(access)) return access.token;
    const exchanged = await exchange();
    if (!("token" in exchanged)) return exchanged;
    if (!access) process.stderr.write(`${exchanged.identity}\n`);
    access = exchanged;
    return access.token;
  };
}

const isUsable = ({ endsAtMs }: Access) => endsAtMs - MIN_REMAINING_MS > Date.now();

type Service = { url: string; product: string | undefined };
type AccessSource = () => Promise<Access | ApiResponse>;

function accessSource(service: Service, env: NodeJS.ProcessEnv): AccessSource {
  const { url } = service;
  const idTokens = Object.entries(env).filter(([name, value]) => value && /^HOMEPORT_ID_TOKEN(_\d)?$/.test(name));
  if (idTokens.length > 0) {
    const folder = path.join(env.XDG_CACHE_HOME ?? path.join(homedir(), ".cache"), "homeport-publisher");
    const inOrder = idTokens.sort().map(([, value = ""]) => value);
    return () => exchangeGiven(service, inOrder, folder);
  }
  const { ACTIONS_ID_TOKEN_REQUEST_URL: requestUrl, ACTIONS_ID_TOKEN_REQUEST_TOKEN: requestToken } = env;
  if (requestUrl && requestToken)
    return async () => exchangeIdToken(service, await requestIdToken(url, requestUrl, requestToken));
  throw new UsageError(
    env.GITHUB_ACTIONS === "true"
      ? "HOMEPORT_URL requires HOMEPORT_API_KEY, or `permissions: { id-token: write }` in the workflow."
      : env.GITLAB_CI === "true"
        ? `HOMEPORT_URL requires HOMEPORT_API_KEY, or \`id_tokens: { HOMEPORT_ID_TOKEN: { aud: "${audienceOf(url)}" } }\` in the job.`
        : "HOMEPORT_URL requires HOMEPORT_API_KEY: create one with `homeport keys create`.",
  );
}

/** The audience of ID tokens for a service. Never what the service itself says, which could name another one. */
const audienceOf = (url: string) => new URL(url).origin;

/**
 * Requests an ID token from GitHub Actions, or from Forgejo, which responds alike.
 * See https://docs.github.com/en/actions/reference/security/oidc
 */
async function requestIdToken(url: string, requestUrl: string, requestToken: string): Promise<string> {
  const endpoint = new URL(requestUrl);
  endpoint.searchParams.set("audience", audienceOf(url));
  const headers = { accept: "application/json", authorization: `Bearer ${requestToken}` };
  const client = clientOf("Its endpoint", ({ method, path: href }) =>
    fetch(href, { method, headers, redirect: "error", signal: AbortSignal.timeout(TIMEOUT_MS) }),
  );
  const request = { method: HTTP_GET, path: endpoint.href };
  const { value } = await client.json<{ value?: unknown }>(request).catch((error: Error) => {
    throw new CommandError("id_token_unavailable", `The job gets no ID token: ${error.message}`);
  });
  if (typeof value === "string" && value !== "") return value;
  throw new CommandError("id_token_unavailable", "The job gets no ID token: the response has none.");
}

/**
 * Exchanges the first of the tokens that is accepted: one that is not may have been used by a command that never got the answer.
 * What was exchanged is kept in the folder for the job's next commands.
 */
async function exchangeGiven(
  service: Service,
  idTokens: readonly string[],
  folder: string,
): Promise<Access | ApiResponse> {
  const fileOf = (idToken: string) =>
    path.join(folder, createHash("sha256").update(`${service.url}\n${idToken}`).digest("hex"));
  const known = await Promise.all(idTokens.map((idToken) => readJsonFile(fileOf(idToken), Access).catch(() => null)));
  const isFor = (access: Access) => (service.product ?? access.product) === access.product;
  const usable = known.find((access) => access && isUsable(access) && isFor(access));
  if (usable) return usable;
  let refused: Response | undefined;
  for (const idToken of idTokens.filter((_, i) => !known[i])) {
    const exchanged = await exchangeIdToken(service, idToken);
    if ("token" in exchanged) await keep(folder, fileOf(idToken), exchanged).catch(() => {});
    if ("token" in exchanged || (await toError(exchanged.clone())).code !== "invalid_id_token") return exchanged;
    refused = exchanged;
  }
  if (refused) return refused;
  const next = `HOMEPORT_ID_TOKEN_${idTokens.length + 1}`;
  throw new CommandError(
    "id_token_used",
    `The ID tokens of the job are used. Add ${next} to it, for a quarter of an hour more.`,
  );
}

async function keep(folder: string, file: string, access: Access): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const other = path.join(folder, name);
    if ((await stat(other)).mtimeMs < Date.now() - KEPT_MS) await rm(other, { force: true });
  }
  await writeDurably(file, JSON.stringify(access), { mode: 0o600 });
}

/** Exchanges an ID token. Returns the service's response if it refuses. */
async function exchangeIdToken({ url, product }: Service, idToken: string): Promise<Access | Response> {
  const { method, path: endpoint } = requestOf("exchangeCode");
  const given = {
    grant_type: TOKEN_EXCHANGE_GRANT,
    subject_token: idToken,
    subject_token_type: ID_TOKEN_TYPE,
    ...(product !== undefined && { audience: product }),
  };
  const sentMs = Date.now();
  const response = await fetch(`${url}${endpoint}`, {
    method,
    body: new URLSearchParams(given),
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) return response;
  const { success, data } = TokenResponse.safeParse(await response.json().catch(() => null));
  if (!success)
    throw new CommandError("invalid_response", `${url} did not issue a token. Is it the URL of the service?`);
  return { token: data.access_token, endsAtMs: sentMs + data.expires_in * 1000, product, identity: identityOf(data) };
}

/** Who the service takes the job for, and what it may do. */
function identityOf({ publisher, expires_in }: TokenResponse): string {
  if (!publisher) return "This job may publish releases.";
  const { name, product, channel, source } = publisher;
  const build = source ? ` (${source.ref}, commit ${source.commit.slice(0, 7)})` : "";
  const where = channel === null ? "all channels" : `the channel ${channel}`;
  const time = `${Math.floor(expires_in / 60)} minutes at a time`;
  return printable(
    `This job is the publisher ${name}${build}. It may read and change the releases of ${product} on ${where}, for ${time}.`,
  );
}
