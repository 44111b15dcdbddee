import { setRole } from "@/lib/accounts/admin/change-account";
import { createKey } from "@/lib/auth/api-keys/keys";
import { NewKey } from "@/lib/auth/api-keys/schema";
import { addPublisher } from "@/lib/auth/publishers/publishers";
import { NewPublisher } from "@/lib/auth/publishers/schema";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { Scope } from "@/lib/principal";
import { BASE_URL } from "@/tests/support/base-url";
import { idTokenOf, type World } from "./world";

export type Person = { id: string; email: string; password: string; token: string; sessionId: string };
export type Role = "anonymous" | "user" | "support" | "admin" | "key" | "publisher" | "machine";
/** A key's is "old" with few scopes, and "disabled" once it has expired. */
export type State = "live" | "old" | "ended" | "disabled";
export type Actor = { role: Role; state: State; headers: Record<string, string>; person?: Person };

export const ROLES: readonly Role[] = ["anonymous", "user", "support", "admin", "key", "publisher", "machine"];
export const STATES: readonly State[] = ["live", "old", "ended", "disabled"];
const OPERATOR = { actor: "operator:fuzz", accountId: null, source: COMMAND_LINE } as const;
export const PASSWORD = "correct horse battery staple";
const DAY_MS = 24 * 60 * 60 * 1000;

let people = 0;
export const newEmail = (name = "person"): string => {
  people += 1;
  return `${name}-${people}-${Date.now()}@example.com`;
};

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export type Given = {
  headers?: Record<string, string>;
  json?: unknown;
  form?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  /** A refusal that is expected. */
  also?: number;
};

/** Calls an operation for what another request needs. @throws Error unless it is a success */
export async function callFor(world: World, method: string, target: string, given: Given = {}) {
  const { headers = {}, json, form, body, also } = given;
  const content = json !== undefined ? JSON.stringify(json) : form ? new URLSearchParams(form).toString() : body;
  const type = json !== undefined ? "application/json" : form ? "application/x-www-form-urlencoded" : undefined;
  const answer = await world.send({
    method,
    target,
    headers: { ...(type && { "content-type": type }), ...headers },
    ...(content !== undefined && { body: content }),
  });
  if (answer.status >= 400 && answer.status !== also)
    throw new Error(`${method} ${target} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

export async function newPerson(world: World, email = newEmail()): Promise<Person> {
  const json = { email, password: PASSWORD };
  const { body } = await callFor(world, "POST", "/api/auth/register", { json });
  return { id: body.user.id, email, password: PASSWORD, token: body.token, sessionId: body.session.id };
}

/** Signs somebody in as a browser does. */
export async function cookieOf(world: World, { email, password }: Person): Promise<Record<string, string>> {
  const json = { email, password, transport: "cookie" };
  const headers = { origin: BASE_URL };
  const answer = await callFor(world, "POST", "/api/auth/login", { json, headers });
  return { ...headers, cookie: cookiesIn(answer.headers) };
}

export const cookiesIn = (headers: Headers): string =>
  headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");

/** Somebody who makes requests, new in the world. */
export async function newActor(world: World, role: Role, state: State = "live", isCookie = false): Promise<Actor> {
  const { context } = world;
  if (role === "anonymous") return { role, state, headers: {} };
  if (role === "machine") return { role, state, headers: bearer(context.operatorKey?.text ?? "") };
  if (role === "key") {
    const fields = NewKey.parse({ name: "Fuzzer", scopes: state === "old" ? ["releases:read"] : Scope.options });
    const { id, key } = await createKey(context, OPERATOR, fields);
    const past = new Date(Date.now() - 1);
    const data = { ...(state === "ended" && { revokedAt: past }), ...(state === "disabled" && { expiresAt: past }) };
    await context.db.apiKey.update({ where: { id }, data });
    return { role, state, headers: bearer(key) };
  }
  if (role === "publisher") {
    const publisher = await newPublisher(world);
    const headers = bearer(await publisherToken(world, publisher.name));
    if (state === "ended" || state === "disabled") await context.db.publisher.delete({ where: { id: publisher.id } });
    return { role, state, headers };
  }
  const person = await newPerson(world);
  if (role !== "user") await setRole(context, OPERATOR, person.id, { role });
  const headers = isCookie ? await cookieOf(world, person) : bearer(person.token);
  const { db } = context;
  if (state === "old")
    await db.session.updateMany({
      where: { accountId: person.id },
      data: { authenticatedAt: new Date(Date.now() - DAY_MS) },
    });
  if (state === "ended")
    await db.session.updateMany({ where: { accountId: person.id }, data: { revokedAt: new Date() } });
  if (state === "disabled") await db.account.update({ where: { id: person.id }, data: { disabledAt: new Date() } });
  return { role, state, headers, person };
}

export const newPublisher = (world: World) =>
  addPublisher(
    world.context,
    OPERATOR,
    NewPublisher.parse({
      type: "github",
      repository: `acme/app${people++}`,
      workflow: "release.yml",
      issuer: "https://issuer.example.com",
      product: "core",
    }),
  );

async function publisherToken(world: World, repository: string): Promise<string> {
  const commit = "1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b";
  const workflow = `${repository}/.github/workflows/release.yml@refs/tags/v1.2.0`;
  const claims = {
    aud: BASE_URL,
    sub: `repo:${repository}:ref:refs/tags/v1.2.0`,
    jti: crypto.randomUUID(),
    repository,
    repository_id: "74",
    repository_owner: "acme",
    repository_owner_id: "65",
    repository_visibility: "private",
    actor: "ann",
    event_name: "push",
    ref: "refs/tags/v1.2.0",
    ref_type: "tag",
    sha: commit,
    workflow: "Release",
    workflow_ref: workflow,
    workflow_sha: commit,
    job_workflow_ref: workflow,
    job_workflow_sha: commit,
    run_id: "4711",
    run_attempt: "1",
    runner_environment: "github-hosted",
  };
  const form = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: idTokenOf("ci", claims),
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    product: "core",
  };
  return (await callFor(world, "POST", "/api/auth/oauth/token", { form })).body.access_token;
}
