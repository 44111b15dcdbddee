import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { subset } from "semver";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { newDataDir, type Service, startService } from "@/tests/support/process/service";
import { manifestEntry } from "@/tests/support/releases/entries";
import { MINISIGN } from "@/tests/support/releases/feeds";
import { describeFile, manifestText } from "@/tests/support/releases/releases";
import { billingEvent, deliverTo } from "@/tests/support/subscriptions/billing";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { newVisitor, submitSignIn, visit } from "@/tests/support/web/pages";
import { startElectron } from "./electron";
import { run, start } from "./programs";
import { provideTauri } from "./tauri";

const REDIRECT_URIS = ["http://127.0.0.1/callback", "com.example.acme:/callback"];

let folder: string;
let service: Service;
let browser: Browser;
let webOrigin: string;

const copyOf = (...names: string[]) => path.join(folder, ...names);
const urlOf = ({ url }: Service) => `http://localhost:${new URL(url).port}`;

describe.runIf(hasChromium)("copied to an empty folder, with the client of the service", () => {
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "homeport-examples-"));
    await writeFile(copyOf("package-lock.json"), "{}"); // further up: Next would take its folder for the app's
    webOrigin = `http://localhost:${await freePort()}`;
    service = await startService({
      DATA_DIR: await newDataDir(),
      RELEASE_CATALOG: await writeUpdate(copyOf("releases")),
      OAUTH_CLIENTS: JSON.stringify([{ id: "desktop", name: "Acme", redirectUris: REDIRECT_URIS }]),
      AUTH_TRUSTED_ORIGINS: webOrigin,
      CORS_ALLOWED_ORIGINS: webOrigin,
    });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  test("examples/next builds, signs in on the service's page, and shows a purchase as it arrives", async () => {
    expect(await install("next")).not.toContain("workspace root");
    await start(copyOf("next"), "npm", "start", "--", "--port", new URL(webOrigin).port);
    const { page } = await visit(browser, service);
    const person = await newVisitor(page);
    await page.context().clearCookies();

    await expect.poll(() => fetch(webOrigin).then(({ status }) => status, String)).toBe(200);
    await page.goto(webOrigin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await submitSignIn(page, person);
    await page.getByText(person.email).waitFor();
    const checkout = await page.getByRole("link", { name: "Buy Acme Pro" }).getAttribute("href");
    const accountId = new URL(checkout ?? "").searchParams.get("client_reference_id");
    await deliverTo(service, billingEvent("INITIAL_PURCHASE", { app_user_id: accountId }));
    await page.getByText("You have Acme Pro.").waitFor();
    await page.getByRole("button", { name: "Notify me" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });

  test("examples/tauri builds, updates itself, and signs in by a deep link", async () => {
    await install("tauri");
    await run(copyOf("tauri"), "npx", "tauri", "inspect", "wix-upgrade-code"); // which checks tauri.conf.json
    const { page, person } = await visitAsCustomer({ javaScriptEnabled: false }); // so that the link is in a header
    const app = await browser.newPage();
    onTestFinished(() => app.close());
    const tauri = await provideTauri(app, copyOf("tauri"), async (url) => {
      await page.goto(url);
      const posted = page.waitForResponse("**/forms/authorize");
      await page.getByRole("button", { name: "Continue as" }).click({ noWaitAfter: true });
      return (await (await posted).headerValue("refresh"))?.replace("0;url=", "") ?? "";
    });
    await app.goto(tauri.url);
    await expect.poll(() => tauri.installed).toEqual(["1.1.0"]);
    await app.getByText("Signed out").waitFor();
    await app.getByRole("button", { name: "Sign in" }).click();
    await app.getByText(person.email).waitFor();
    await app.getByText("You have Acme Pro.").waitFor();
    await app.getByRole("button", { name: "Sign out" }).click();
    await app.getByText("Signed out").waitFor();
  });

  test("examples/electron builds, updates itself, and keeps the feature open while the service is away", async () => {
    await install("electron");
    const { page, person } = await visitAsCustomer();
    const app = await startElectron(copyOf("electron"), browser, async (url) => {
      await page.goto(url);
      await page.getByRole("button", { name: "Continue as" }).click({ noWaitAfter: true });
    });
    await app.window.getByText("Signed out, or offline").waitFor();
    await app.window.getByRole("button", { name: "Sign in" }).click();
    await app.window.getByText(person.email).waitFor();
    const pro = app.window.getByText("Pro: the feature");
    await pro.waitFor();
    await expect.poll(() => app.notifications).toEqual([expect.stringContaining("1.1.0")]);

    await service.end("SIGKILL"); // so this test is the last one
    await app.window.reload();
    await app.window.getByText("Signed out, or offline").waitFor();
    await pro.waitFor();
    await app.window.getByRole("button", { name: "Sign out" }).click();
    await pro.waitFor({ state: "hidden" });
    const update = "Acme-1.1.0.AppImage";
    expect(await app.quit()).toEqual([update, `${update} was started`]);
  });
});

/** Copies an example, for the service, as examples/README.md says. Returns what npm and the build printed. */
async function install(name: string): Promise<string> {
  const [, commands = ""] = /```sh\n(.*?)```/s.exec(await readFile("examples/README.md", "utf8")) ?? [];
  const own = commands.replaceAll("~/acme", copyOf(name)).replace("https://api.example.com", urlOf(service));
  const printed = await run(process.cwd(), "sh", "-euc", own.replace("examples/next", `examples/${name}`));
  await expectEngines(copyOf(name));
  return printed;
}

/** Every package that is not for one platform alone runs on each version of Node that the example names. */
async function expectEngines(copy: string): Promise<void> {
  const { packages } = JSON.parse(await readFile(path.join(copy, "package-lock.json"), "utf8")) as {
    packages: Record<string, { engines?: { node?: string }; optional?: boolean }>;
  };
  const named = packages[""]?.engines?.node ?? "*";
  const others = Object.entries(packages).filter(
    ([, { engines, optional }]) => !optional && !subset(named, engines?.node ?? "*"),
  );
  expect(others).toEqual([]);
}

/** Somebody who has paid, signed in in a browser of their own. */
async function visitAsCustomer(options?: BrowserContextOptions) {
  const { page } = await visit(browser, service, options);
  const person = await newVisitor(page);
  const { user } = await (await page.request.get("/api/auth/session")).json();
  await deliverTo(service, billingEvent("INITIAL_PURCHASE", { app_user_id: user.id }));
  return { page, person };
}

/** A catalog with version 1.1.0 of the desktop apps, which leaves a trace when it is started. Returns its file. */
async function writeUpdate(releases: string): Promise<string> {
  const bytes = Buffer.from('#!/bin/sh\ntouch "$0 was started"\n');
  const update = describeFile("Acme-1.1.0.AppImage", bytes, { minisign: MINISIGN });
  const release = { platform: "linux", architecture: process.arch, version: "1.1.0", artifacts: { update } };
  const catalog = path.join(releases, "catalog.json");
  await mkdir(releases);
  await writeFile(path.join(releases, "Acme-1.1.0.AppImage"), bytes);
  await writeFile(catalog, manifestText([manifestEntry(release)]));
  return catalog;
}
