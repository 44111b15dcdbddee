import { expect, test } from "vitest";
import { bearer, registerAt, startForTest } from "@/tests/support/process/service";

test("next start serves the API, the forms and the pages of the same build", async () => {
  const service = await startForTest({}, "next start");
  expect(await (await service.fetch("/api/health")).json()).toMatchObject({ status: "ok" });

  const { token } = await registerAt(service);
  const status = await service.fetch("/api/subscription/status", { headers: bearer(token) });
  expect([status.status, await status.json()]).toMatchObject([200, { isActive: false }]);

  const installer = await service.fetch("/api/download/windows");
  expect([installer.status, (await installer.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
  const refused = await service.fetch("/api/health", { method: "POST" });
  expect([refused.status, refused.headers.get("content-type")]).toEqual([405, "application/problem+json"]);
  const nothing = await service.fetch("/api/nothing");
  expect([nothing.status, await nothing.json()]).toMatchObject([404, { code: "not_found" }]);

  const signIn = await service.fetch("/sign-in");
  expect([signIn.status, signIn.headers.get("content-security-policy")]).toEqual([
    200,
    expect.stringContaining("'nonce-"),
  ]);
  expect((await service.fetch("/forms/sign-out", { redirect: "manual" })).status).toBe(405);
});
