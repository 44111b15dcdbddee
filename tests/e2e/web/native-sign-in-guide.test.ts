import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TokenIssuer } from "@/tests/support/auth/token-issuer";
import { examplesOf, runModules } from "@/tests/support/guide";
import { anyDatabase, newDataDir, type Service, startService } from "@/tests/support/process/service";
import { ELECTRON, newElectronApp, newTauriApp, TAURI } from "@/tests/support/web/app-frameworks";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, newVisitor, visit } from "@/tests/support/web/pages";

type SignIn = (server: string, open: (...given: string[]) => unknown) => Promise<string>;
type App = { signIn: SignIn; signOut: (server: string, token: string) => Promise<void> };

const examples = examplesOf("native-sign-in");
const example = (name: string): string => examples.get(name) ?? "";
const PACKAGES = { "openid-client": null, oauth4webapi: null, jose: null };
/** The apps that the guide registers. */
const newClientsFile = async () => {
  const file = path.join(await newDataDir(), "clients.json");
  await writeFile(file, example("clients.json"));
  return file;
};

test("the guide's runnable examples are these, and each is run here", () => {
  const modules = ["desktop.mjs", "electron.mjs", "tauri.mjs", "cli.mjs"];
  expect([...examples.keys()]).toEqual(["clients.json", ...modules, "id-token.sh"]);
});

let apple: TokenIssuer;
let service: Service;
let browser: Browser | undefined;
beforeAll(async () => {
  apple = await TokenIssuer.start("apple");
  const settings = {
    OAUTH_CLIENTS: await newClientsFile(),
    AUTH_APPLE_ISSUER: apple.origin,
    AUTH_APPLE_NATIVE_IDS: "com.example.acme",
    ...(await anyDatabase()),
  };
  [service, browser] = await Promise.all([startService(settings), hasChromium ? launchChromium() : undefined]);
});
afterAll(async () => {
  await browser?.close();
  await service?.end("SIGKILL");
  apple?.close();
});

test("the request of the guide exchanges Apple's ID token for a session", async () => {
  const [nonce, email] = [randomUUID(), `${randomUUID()}@privaterelay.appleid.com`];
  const env = { BASE: service.url, NONCE: nonce, NAME: "Ann & Bob", ID_TOKEN: apple.token(nonce, { email }) };
  const { stdout } = await promisify(execFile)("sh", ["-euc", example("id-token.sh")], {
    env: { ...process.env, ...env },
  });
  const { access_token: token } = JSON.parse(stdout) as { access_token: string };
  const session = await service.fetch("/api/auth/session", { headers: { authorization: `Bearer ${token}` } });
  expect(await session.json()).toMatchObject({ user: { email, name: "Ann & Bob" } });
});

test("a request of an unknown app leads nowhere", async () => {
  const response = await service.fetch("/authorize?client_id=unknown&redirect_uri=http://127.0.0.1/callback");
  const html = await response.text();
  expect(/<h1[^>]*>([^<]*)/.exec(html)?.[1]).toBe("This link does not work");
  expect(html).not.toMatch(/<button[^>]*>\s*Continue/);
});

describe.runIf(hasChromium)("in Chromium", () => {
  const open = (options?: BrowserContextOptions) => visit(browser as Browser, service, options);
  /** Where browsers find the service. */
  const server = () => `http://localhost:${new URL(service.url).port}`;
  const run = (file: string): Promise<App> => runModules({ [file]: example(file) }, PACKAGES);
  const statusOf = async (token: string): Promise<number> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await service.fetch("/api/subscription/status", { headers })).status;
  };

  // ASVS 10.7.1, 10.7.2
  test("the desktop example signs in through the page, signs out, and gets access_denied of a user who cancels", async () => {
    const { page, faults } = await open();
    const person = await newVisitor(page, "Ann");
    const { signIn, signOut } = await run("desktop.mjs");
    const token = await signIn(server(), async (url = "") => {
      await page.goto(url);
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Continue to Acme Desktop");
      expect(await page.locator("main").textContent()).toContain(person.email);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(faults).toEqual([]);
      await page.getByRole("button", { name: "Continue as Ann" }).click({ noWaitAfter: true });
    });
    await page.getByText("You can close this window.").waitFor();
    expect(await statusOf(token)).toBe(200);
    await signOut(server(), token);
    expect(await statusOf(token)).toBe(401);
    const cancelled = signIn(server(), async (url = "") => {
      await page.goto(url);
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("You can close this window.").waitFor(); // before the example knows that the browser is open
    });
    await expect(cancelled).rejects.toMatchObject({ error: "access_denied" });
  });

  test("the Electron example signs in, keeps the token encrypted, and signs out", async () => {
    const { page } = await open({ javaScriptEnabled: false });
    const { email } = await newVisitor(page);
    const app = await newElectronApp(async (url) => {
      await page.goto(url);
      await page.getByRole("button", { name: "Continue as" }).click({ noWaitAfter: true });
    });
    const main = example("electron.mjs").replace("https://api.example.com", server());
    await runModules({ "electron.mjs": main, "desktop.mjs": example("desktop.mjs") }, { ...PACKAGES, ...ELECTRON });
    expect(await app.invoke("current-user")).toBeNull();
    await app.invoke("sign-in");
    expect(await app.invoke("current-user")).toMatchObject({ email });
    const stored = await readFile(path.join(app.folder, "session"), "utf8");
    const token = [...stored].reverse().join("");
    expect(await statusOf(token)).toBe(200);
    await app.invoke("sign-out");
    expect(await app.invoke("current-user")).toBeNull();
    expect(await statusOf(token)).toBe(401);
  });

  test("the Tauri example signs in through its private-use scheme", async () => {
    const { page } = await open({ javaScriptEnabled: false });
    await newVisitor(page);
    const app = newTauriApp(async (url) => {
      await page.goto(url);
      const posted = page.waitForResponse("**/forms/authorize");
      await page.getByRole("button", { name: "Continue as" }).click({ noWaitAfter: true });
      // The system gives the link to the app. Others, such as one of another app, do not disturb it.
      const link = (await (await posted).headerValue("refresh"))?.replace("0;url=", "") ?? "";
      app.onOpenUrl?.(["com.example.acme:/other"]);
      app.onOpenUrl?.([link]);
    });
    const { signIn } = (await runModules({ "tauri.mjs": example("tauri.mjs") }, { ...PACKAGES, ...TAURI })) as App;
    expect(await statusOf(await signIn(server(), () => {}))).toBe(200);
    expect(app.requests).toEqual(["/.well-known/oauth-authorization-server", "/api/auth/oauth/token"]);
    expect(app.onOpenUrl).toBeNull();
  });

  test("the command line example signs in with the code that a person types", async () => {
    const { page, faults } = await open();
    const person = await newVisitor(page);
    const { signIn } = await run("cli.mjs");
    let typed = Promise.resolve();
    const token = await signIn(server(), (code = "") => {
      typed = typeCode(page, code.toLowerCase());
    });
    await typed;
    expect(await statusOf(token)).toBe(200);
    expect(await page.getByText("Your device is signed in").count()).toBe(1);
    const account = await (await page.request.get("/account")).text();
    expect(account).toContain("Acme CLI");
    expect(account).toContain(person.email);
    expect(faults).toEqual([]);
  });
});

async function typeCode(page: Page, code: string): Promise<void> {
  await page.goto("/device");
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.waitForURL(/done=allowed/);
}
