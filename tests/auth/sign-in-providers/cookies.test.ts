import { decode, encode } from "next-auth/jwt";
import { describe, expect, test } from "vitest";
import { call } from "@/tests/support/api";
import { followCallback, Jar, startProvider } from "@/tests/support/auth/browser";
import { googlePerson, newEmail, setUpProviders } from "@/tests/support/auth/providers";
import { BASE_URL, ctx, withContext } from "@/tests/support/context";

const { google } = await setUpProviders();

const SESSION = "__Host-next-auth.session-token";
const FLOW = ["next-auth.state", "next-auth.pkce.code_verifier", "next-auth.nonce"];

/** Runs as a service with https. The requests come from a trusted origin. */
const overHttps = (run: () => Promise<void>) =>
  withContext({ config: { baseUrl: "https://home.example", AUTH_TRUSTED_ORIGINS: [BASE_URL] } }, run);

const start = async (jar: Jar) => {
  google.person = googlePerson(newEmail());
  return google.approve(await startProvider(google, jar));
};

describe("over https", () => {
  // ASVS 3.3.1, 3.3.2, 3.3.3, 3.3.4
  test("every cookie of a sign-in is bound to the host and to https, and scripts cannot read it", async () => {
    await overHttps(async () => {
      const lines: string[] = [];
      const jar = new Jar();
      const take = jar.take.bind(jar);
      jar.take = (response) => {
        lines.push(...response.headers.getSetCookie());
        take(response);
      };
      await followCallback(jar, await start(jar));
      expect(jar.has(SESSION)).toBe(true);
      const names = lines.map((line) => line.split("=", 1)[0]);
      expect(names).toEqual(expect.arrayContaining(FLOW.map((name) => `__Host-${name}`)));
      for (const line of lines) {
        expect(line).toMatch(/^__Host-/);
        expect(line).toMatch(/; Path=\/(;|$)/);
        expect(line).toMatch(/; Secure(;|$)/);
        expect(line).toMatch(/; HttpOnly(;|$)/);
        expect(line).toMatch(/; SameSite=Lax(;|$)/);
        expect(line).not.toMatch(/; Domain=/);
      }
    });
  });

  /** Gives the cookies of a sign-in the names of version 1.0.0, with values that are encrypted for `nameOf`. */
  async function rename(jar: Jar, nameOf: (name: string) => string): Promise<void> {
    const [secret] = ctx().config.secrets;
    for (const name of FLOW) {
      const token = await decode({ token: jar.get(`__Host-${name}`), secret, salt: `__Host-${name}` });
      const value = await encode({ token: token ?? {}, secret, salt: nameOf(name), maxAge: 900 });
      jar.delete(`__Host-${name}`);
      jar.set(`__Secure-${name}`, value);
    }
  }

  test("a sign-in that version 1.0.0 started before an upgrade is finished", async () => {
    await overHttps(async () => {
      const jar = new Jar();
      const callback = await start(jar);
      await rename(jar, (name) => `__Secure-${name}`);
      await followCallback(jar, callback);
      expect(jar.has(SESSION)).toBe(true);
      expect(FLOW.filter((name) => jar.has(`__Secure-${name}`))).toEqual([]);
    });
  });

  // ASVS 3.3.1, 3.3.2, 3.3.3, 10.1.2, 10.2.1
  test("another host of the domain cannot finish its own sign-in in this browser", async () => {
    await overHttps(async () => {
      const attacker = new Jar();
      const callback = await start(attacker);
      await rename(attacker, (name) => `__Host-${name}`);
      await followCallback(attacker, callback);
      expect(attacker.has(SESSION)).toBe(false);
    });
  });
});

test("over http, for development, no cookie has a prefix, which browsers would refuse", async () => {
  const lines = (await call("GET", "/api/auth/csrf")).headers.getSetCookie();
  expect(lines.map((line) => line.split("=", 1)[0]).sort()).toEqual(["next-auth.callback-url", "next-auth.csrf-token"]);
});
