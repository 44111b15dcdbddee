import { afterAll, beforeEach, expect, test } from "vitest";
import { removePublisher } from "@/lib/auth/publishers/publishers";
import { call, get, post } from "@/tests/support/api";
import { accountWithRole, newKey, OPERATOR } from "@/tests/support/auth/api-keys";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { exchangeJobToken, newPublisher } from "@/tests/support/auth/publishers";
import { BASE_URL, clock, ctx, withContext } from "@/tests/support/context";

const github = await CiIssuer.start("github", clock.now);
const gitlab = await CiIssuer.start("gitlab", clock.now);
afterAll(() => {
  github.close();
  gitlab.close();
});
beforeEach(async () => void (await ctx().db.publisher.deleteMany()));

type Issued = { access_token: string; error_description?: string; publisher?: { product: string; channel: string } };

async function exchange(idToken: string, change: Record<string, string> = {}) {
  const response = await exchangeJobToken(idToken, change);
  return { ...((await response.json()) as Issued), status: response.status };
}

const statusOf = async (path: string, token: string) => (await get(path, { token })).status;

test("a job's ID token becomes an access token to releases alone, for 15 minutes or until its publisher is removed", async () => {
  const { id } = await newPublisher(github);
  const issued = await exchange(github.token(BASE_URL));
  expect(issued).toMatchObject({
    token_type: "Bearer",
    expires_in: 900,
    scope: "releases:write",
    publisher: { name: "acme/app", product: "core", channel: null, source: { ref: "refs/tags/v1.2.0" } },
  });
  expect(await statusOf("/api/admin/releases", issued.access_token)).toBe(200);
  for (const path of ["keys", "audit", "accounts", "publishers"]) {
    expect(await statusOf(`/api/admin/${path}`, issued.access_token)).toBe(403);
  }
  expect(await statusOf("/api/subscription/status", issued.access_token)).toBe(401);
  clock.advance(900_000);
  expect(await statusOf("/api/admin/releases", issued.access_token)).toBe(401);
  const { access_token } = await exchange(github.token(BASE_URL));
  await removePublisher(ctx(), OPERATOR, id);
  expect(await statusOf("/api/admin/releases", access_token)).toBe(401);
  expect(await statusOf("/api/admin/releases", "hpt_x")).toBe(401);
});

test.each([
  ["a tag", {}, { ref: "refs/tags/v*" }],
  ["an environment", { environment: "release" }, { environment: "release" }],
  [
    "a commit in place of the workflow's ref",
    { job_workflow_ref: "acme/app/.github/workflows/release.yml@1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b" },
    {},
  ],
  ["a workflow that is not said to be the job's", { job_workflow_ref: undefined }, {}],
  ["a workflow that is not said to be started", { workflow_ref: undefined }, {}],
  [
    "a reusable workflow",
    { job_workflow_ref: "acme/ci/.github/workflows/publish.yml@refs/tags/v3" },
    { workflow: "acme/ci/.github/workflows/publish.yml@refs/tags/v*" },
  ],
  ["a clock that is 60 s ahead", { iat: 60, nbf: 60, exp: 360 }, {}],
  ["a clock that is 59 s behind", { iat: -359, nbf: -959, exp: -59 }, {}],
])("%s is as the publisher has it", async (_, change, publisher) => {
  await newPublisher(github, publisher);
  const now = Math.floor(clock.now().getTime() / 1000);
  const claims = Object.entries(change).map(([name, value]) => [name, typeof value === "number" ? now + value : value]);
  expect(await exchange(github.token(BASE_URL, Object.fromEntries(claims)))).toMatchObject({ status: 200 });
});

test("GitLab's project and another issuer's claims are publishers, too", async () => {
  await newPublisher(gitlab, { type: "gitlab", repository: "acme/apps/app", workflow: undefined, ref: "refs/tags/v*" });
  expect(await exchange(gitlab.token(BASE_URL))).toMatchObject({
    status: 200,
    publisher: { name: "acme/apps/app", source: { repository: "acme/apps/app", ref: "refs/tags/v1.2.0" } },
  });
  const claims = { organization: "acme", verified: "true" };
  await newPublisher(github, { type: "oidc", repository: undefined, workflow: undefined, claims });
  const token = github.token(BASE_URL, { organization: "acme", verified: true, sha: undefined });
  expect(await exchange(token)).toMatchObject({ status: 200, publisher: { name: github.origin, source: null } });
});

test("of two publishers of a product the one with the longer ref acts, and of two products the request names one", async () => {
  await newPublisher(github, { ref: "refs/tags/*" });
  await newPublisher(github, { ref: "refs/tags/v*-beta.*", channel: "beta" });
  const beta = {
    ref: "refs/tags/v2-beta.1",
    job_workflow_ref: "acme/app/.github/workflows/release.yml@refs/tags/v2-beta.1",
  };
  const betaToken = () => github.token(BASE_URL, { ...beta, workflow_ref: beta.job_workflow_ref });
  expect(await exchange(betaToken())).toMatchObject({ publisher: { channel: "beta" } });
  expect(await exchange(github.token(BASE_URL))).toMatchObject({ publisher: { channel: null } });
  await newPublisher(github, { product: "ops" });
  const token = github.token(BASE_URL);
  expect((await exchange(token)).error_description).toMatch(/^audience: Required/);
  expect(await exchange(token, { audience: "ops" })).toMatchObject({ publisher: { product: "ops" } });
});

test("of twenty concurrent exchanges of one token, one succeeds; of two first uses with other ids, one", async () => {
  await newPublisher(github);
  const statuses = async (tokens: string[]) =>
    (await Promise.all(tokens.map((token) => exchange(token)))).map(({ status }) => status).sort();
  expect(await statuses(Array(20).fill(github.token(BASE_URL)))).toEqual([200, ...Array(19).fill(400)]);
  await ctx().db.publisher.deleteMany();
  await newPublisher(github);
  expect(await statuses(["74", "75"].map((id) => github.token(BASE_URL, { repository_id: id })))).toEqual([200, 400]);
});

test("a publisher that is added several times at once is one", async () => {
  const products = ["core", "ops", "docs"]; // the first connects to the database
  for (const product of products) {
    await Promise.all(Array.from({ length: 5 }, () => newPublisher(github, { product })));
  }
  expect(await ctx().db.publisher.count()).toBe(products.length);
});

test("an issuer on this machine over http needs a service on this machine", async () => {
  await newPublisher(github);
  await withContext({ config: { baseUrl: "https://updates.example.com" } }, async () => {
    expect((await exchange(github.token("https://updates.example.com"))).status).toBe(400);
    await expect(newPublisher(github, { product: "ops" })).rejects.toMatchObject({ code: "validation_failed" });
  });
});

test("an admin adds, shows, lists and removes publishers, with a recent sign-in; a key does not", async () => {
  const { token } = await accountWithRole("admin");
  const given = { type: "github", repository: "acme/app", workflow: "release.yml", product: "core", channel: "stable" };
  const add = async (by: string) => {
    const response = await post("/api/admin/publishers", given, { token: by });
    return { status: response.status, body: (await response.json()) as { id: string } };
  };
  const { status, body } = await add(token);
  expect([status, body]).toMatchObject([
    201,
    { name: "acme/app", issuer: "https://token.actions.githubusercontent.com" },
  ]);
  expect((await add(token)).body.id).toBe(body.id);
  expect(await (await get("/api/admin/publishers", { token })).json()).toMatchObject({
    publishers: [{ id: body.id }],
    nextCursor: null,
  });
  const path = `/api/admin/publishers/${body.id}`;
  expect(await (await get(path, { token })).json()).toMatchObject({ ...given, repositoryId: null });
  const { key } = await newKey();
  expect([(await add(key)).status, (await call("DELETE", path, { token: key })).status]).toEqual([403, 403]);
  expect([(await call("DELETE", path, { token })).status, (await call("DELETE", path, { token })).status]).toEqual([
    204, 404,
  ]);
  const events = await ctx().db.auditEvent.findMany({
    where: { target: `publisher:${body.id}` },
    orderBy: { id: "asc" },
  });
  expect(events.map(({ type }) => type)).toEqual(["publisher_added", "publisher_removed"]);
  clock.advance(11 * 60_000);
  expect((await add(token)).status).toBe(403);
});

test("an issuer that is no URL is refused", async () => {
  const { token } = await accountWithRole("admin");
  for (const type of ["github", "gitlab", "oidc"]) {
    const given = { type, issuer: "text", claims: { sub: "a" }, repository: "acme/app", product: "core" };
    const response = await post("/api/admin/publishers", given, { token });
    expect([response.status, await response.json()]).toMatchObject([422, { code: "validation_failed" }]);
  }
});
