import { afterAll, expect, test } from "vitest";
import { addPublisher, removePublisher } from "@/lib/auth/publishers/publishers";
import { NewPublisher } from "@/lib/auth/publishers/schema";
import { get } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { CiIssuer } from "@/tests/support/auth/ci-issuer";
import { postOAuth } from "@/tests/support/auth/oauth-client";
import { BASE_URL, clock, ctx } from "@/tests/support/context";

const issuer = await CiIssuer.start("github", clock.now);
afterAll(() => issuer.close());

const PUBLISHER = { type: "github", repository: "acme/app", workflow: "release.yml", product: "core" };

const add = (change: object = {}) =>
  addPublisher(ctx(), OPERATOR, NewPublisher.parse({ ...PUBLISHER, issuer: issuer.origin, ...change }));

const exchange = (idToken: string, change: Record<string, string> = {}) =>
  postOAuth("token", {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: idToken,
    subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    ...change,
  });

test("a job's ID token becomes an access token to releases alone, for 15 minutes or until its publisher is removed", async () => {
  const publisher = await add();
  const issue = async () => (await (await exchange(issuer.token(BASE_URL))).json()) as { access_token: string };
  const issued = await issue();
  expect(issued).toMatchObject({
    token_type: "Bearer",
    expires_in: 900,
    scope: "releases:write",
    publisher: {
      id: publisher.id,
      name: "acme/app",
      product: "core",
      channel: null,
      source: { ref: "refs/tags/v1.2.0" },
    },
  });
  const statusOf = async (path: string, token: string) => (await get(path, { token })).status;
  expect(await statusOf("/api/admin/releases", issued.access_token)).toBe(200);
  for (const path of ["/api/admin/keys", "/api/admin/audit", "/api/admin/accounts", "/api/admin/publishers"]) {
    expect(await statusOf(path, issued.access_token)).toBe(403);
  }
  expect(await statusOf("/api/me", issued.access_token)).toBe(401);
  clock.advance(900_000);
  expect(await statusOf("/api/admin/releases", issued.access_token)).toBe(401);
  const { access_token } = await issue();
  await removePublisher(ctx(), OPERATOR, publisher.id);
  expect(await statusOf("/api/admin/releases", access_token)).toBe(401);
});
