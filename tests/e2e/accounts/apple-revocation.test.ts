import { expect, onTestFinished, test } from "vitest";
import { Jar } from "@/tests/support/auth/browser";
import { IdentityProvider } from "@/tests/support/auth/identity-provider";
import { BASE_URL } from "@/tests/support/context";
import { signInWith } from "@/tests/support/process/provider-sign-in";
import { anyDatabase, startForTest } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";

/** Ends the delay of the revocation. Returns how many there are. */
async function endDelay(env: Record<string, string>): Promise<number> {
  const data = { nextAttemptAt: new Date() };
  return (await withStoppedDatabase(env, (db) => db.appleRevocation.updateMany({ data }))).count;
}

test("a revocation that a kill -9 prevented after the deletion is sent to Apple after the next start", async () => {
  const apple = await IdentityProvider.start("apple", BASE_URL);
  onTestFinished(() => apple.close());
  // With a relay address the request is sent ten minutes after the deletion: the process is killed between the two.
  apple.person = { sub: "001", claims: { email: "a@privaterelay.appleid.com", email_verified: "true" } };
  const variables = { ...apple.variables, ...(await anyDatabase()), NEXTAUTH_URL: BASE_URL };
  const first = await startForTest(variables);
  const env = { ...variables, DATA_DIR: first.dataDir };
  const jar = new Jar();
  await signInWith(apple, first, jar);
  const session = { cookie: jar.header, origin: BASE_URL };
  const deleted = await first.post("/api/auth/account/delete", { confirm: "DELETE" }, session);
  expect(deleted.status).toBe(200);
  await first.end("SIGKILL");
  expect(apple.revoked).toEqual([]);

  expect(await endDelay(env)).toBe(1);
  const second = await startForTest(env);
  await expect.poll(() => apple.revoked).toEqual(apple.refreshTokens);
  await second.end("SIGTERM");
  expect(await endDelay(env)).toBe(0);
});
