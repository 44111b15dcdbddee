import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { transform } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { Authenticator } from "@/tests/support/auth/authenticator";
import { examplesOf } from "@/tests/support/guide";
import { startTlsFront, type TlsFront } from "@/tests/support/network/tls-front";
import { startWebService, type WebService } from "@/tests/support/process/web-service";
import { hasChromium, launchChromium, newPage } from "@/tests/support/web/chromium";

const PASSWORD = "a good long password";
const STEP_MS = 30_000;
const examples = examplesOf("sign-in");
const example = (name: string): string => examples.get(name) ?? "";
const newEmail = () => `person-${randomUUID()}@example.com`;

test("the guide's runnable examples are these, and each is run here or in passkeys.test.ts", () => {
  expect([...examples.keys()]).toEqual(["app.tsx", "spa.ts", "desktop.ts", "ios.sh", "passkeys.ts"]);
});

let browser: Browser | undefined;
let web: WebService;
let spa: TlsFront;

beforeAll(async () => {
  const page =
    '<!doctype html><html lang="en"><head><title>App</title></head><body><script src="/app.js"></script></body></html>';
  const pages = {
    "/app": { type: "text/html", body: page },
    "/app.js": { type: "text/javascript", body: bundled("app.tsx") },
  };
  spa = await startTlsFront(await freePort(), {
    "/": { type: "text/html", body: "<!doctype html><title>SPA</title>" },
  });
  const variables = { AUTH_TRUSTED_ORIGINS: spa.origin, CORS_ALLOWED_ORIGINS: spa.origin };
  const started = startWebService(variables, pages);
  [browser, web] = await Promise.all([hasChromium ? launchChromium() : undefined, started]);
});
afterAll(async () => {
  await browser?.close();
  await web?.close();
  spa?.close();
});

describe("without a browser", () => {
  const email = newEmail();
  beforeAll(async () => {
    await web.service.post("/api/auth/register", { email, password: PASSWORD });
  });

  test("the desktop example signs in, requests its account and signs out", async () => {
    type Desktop = {
      signIn: (base: string, email: string, password: string, deviceName: string) => Promise<string>;
      currentUser: (base: string, token: string) => Promise<{ id: string; email: string } | null>;
      signOut: (base: string, token: string) => Promise<void>;
    };
    const { signIn, currentUser, signOut } = (await import(await compiled("desktop.ts"))) as Desktop;
    await expect(signIn(web.service.url, email, "a wrong password", "Ann's PC")).rejects.toMatchObject({
      code: "invalid_credentials",
    });
    const token = await signIn(web.service.url, email, PASSWORD, "Ann's PC");
    expect(await currentUser(web.service.url, token)).toMatchObject({ email });
    await signOut(web.service.url, token);
    await signOut(web.service.url, token);
    expect(await currentUser(web.service.url, token)).toBeNull();
  });

  test("the iOS requests, sent with curl, get the responses in the guide", async () => {
    const shell = spawn("sh", ["-eu"], { env: { ...process.env, BASE: web.service.url, EMAIL: email, PASSWORD } });
    shell.stdin.end(example("ios.sh"));
    expect(await text(shell.stdout)).toMatch(
      new RegExp(`^\\{"user":\\{[^}]*"email":"${email}"[^}]*\\}[^}]*\\}\\{"url":"[^"]+"\\}\\{\\}$`),
    );
  });
});

describe.runIf(hasChromium)("in Chromium", () => {
  const open = () => newPage(browser as Browser);

  test("the web example registers, signs out, shows errors, signs in, and signs in with Google", async () => {
    const page = await open();
    const email = newEmail();
    const enter = async (password: string, button: string) => {
      await page.fill("[name=email]", email);
      await page.fill("[name=password]", password);
      await page.click(button);
    };
    const isSignedIn = () => page.waitForSelector(`text=Signed in as ${email}`);
    await page.goto(`${web.origin}/app`);
    await enter(PASSWORD, "text=Register");
    await isSignedIn();
    await page.click("text=Sign out");
    await enter("a wrong password", "button >> nth=0");
    await page.waitForSelector("text=The email or password is incorrect.");
    const busy = { status: 503, contentType: "application/problem+json", body: '{"status":503,"code":"overloaded"}' };
    await page.route("**/callback/credentials", (route) => route.fulfill(busy), { times: 1 });
    await enter(PASSWORD, "button >> nth=0");
    await page.waitForSelector("text=The service is busy.");
    await enter(PASSWORD, "button >> nth=0");
    await isSignedIn();
    await page.reload();
    await isSignedIn();
    await page.click("text=Sign out");
    await page.waitForSelector("[name=email]");

    const other = newEmail();
    web.google.person = { sub: randomUUID(), claims: { email: other, email_verified: true, hd: "example.com" } };
    await page.click("text=Sign in with Google");
    await page.click("text=Continue with google");
    await page.waitForSelector(`text=Signed in as ${other}`);
    expect(page.url()).toBe(`${web.origin}/app`);
  });

  test("the web example asks for the code of an account with a second factor", async () => {
    const page = await open();
    const email = newEmail();
    const call = async (path: string, data: object, token = "") => {
      const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
      return (await page.request.post(web.origin + path, { data, headers })).json();
    };
    const { token } = await call("/api/auth/register", { email, password: PASSWORD, transport: "token" });
    const { id, secret } = await call("/api/auth/factors/totp", {}, token);
    const app = new Authenticator(secret);
    await call("/api/auth/factors/totp/confirm", { id, code: app.code() }, token);

    await page.goto(`${web.origin}/app`);
    await page.fill("[name=email]", email);
    await page.fill("[name=password]", PASSWORD);
    await page.click("button >> nth=0");
    await page.fill("[name=code]", app.wrongCode());
    await page.click("text=Continue");
    await page.waitForSelector("text=The code is incorrect.");
    await page.fill("[name=code]", app.code(STEP_MS)); // a code works once, and one was used
    await page.click("text=Continue");
    await page.waitForSelector(`text=Signed in as ${email}`);
  });

  test("the example for another origin signs in, shows who is signed in, and signs out", async () => {
    type Spa = {
      signIn: (email: string, password: string) => Promise<void>;
      currentUser: () => Promise<{ email: string } | null>;
      signOut: () => Promise<void>;
    };
    const page = await open();
    await page.goto(spa.origin);
    const code = await compiledText(example("spa.ts").replace("https://api.example.com", web.origin));
    await page.addScriptTag({ type: "module", content: `${code}\nwindow.spa = { signIn, currentUser, signOut };` });
    const run = <T>(use: (spa: Spa, given: string[]) => Promise<T>, ...given: string[]): Promise<T> =>
      page.evaluate(`(${use})(window.spa, ${JSON.stringify(given)})`);
    const email = newEmail();
    const body = { email, password: PASSWORD };
    await page.request.post(`${web.origin}/api/auth/register`, { data: { ...body, transport: "token" } });
    expect(await run((app) => app.currentUser())).toBeNull();
    const wrong = run(
      (app, [mail = ""]) => app.signIn(mail, "a wrong password").catch((problem) => problem.code),
      email,
    );
    expect(await wrong).toBe("invalid_credentials");
    await run((app, [mail = "", password = ""]) => app.signIn(mail, password), email, PASSWORD);
    expect(await run((app) => app.currentUser())).toMatchObject({ email });
    await run((app) => app.signOut());
    expect(await run((app) => app.currentUser())).toBeNull();
  });
});

/** An example as one script for a browser, built by the guide's own command in a folder without a tsconfig.json. */
function bundled(name: string): string {
  const command = /^npx esbuild (.*)$/m.exec(readFileSync("docs/guides/sign-in.md", "utf8"))?.[1] ?? "";
  const folder = mkdtempSync(path.join(tmpdir(), "example-"));
  symlinkSync(path.resolve("node_modules"), path.join(folder, "node_modules"));
  writeFileSync(path.join(folder, name), example(name));
  execFileSync(path.resolve("node_modules/.bin/esbuild"), command.split(" "), { cwd: folder, stdio: "pipe" });
  return readFileSync(path.join(folder, "app.js"), "utf8");
}

/** TypeScript as an ES module. */
const compiledText = async (contents: string) => (await transform(contents, { loader: "ts", format: "esm" })).code;

/** An example as a module that can be imported. Returns its file. */
async function compiled(name: string): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "example-")), `${name}.mjs`);
  await writeFile(file, await compiledText(example(name)));
  return file;
}
