import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { preparedDataDir, type Service, startService } from "@/tests/support/process/service";
import { launchChromium } from "./chromium";

/** Every page; some ask for a session. */
export const PAGES = [
  "/",
  "/sign-in",
  "/register",
  "/forgot",
  "/forgot?sent",
  "/reset",
  "/invitation",
  "/verify",
  "/not-me",
  "/not-me?done",
  "/download",
  "/install",
  "/docs",
  "/docs/errors",
  "/account",
  "/account/delete",
  "/account/password",
  "/account/email",
  "/account/export",
  "/account/factors/totp",
  "/account/name",
  "/account/passkeys/add",
  "/confirm",
  "/email-change",
  "/email-change/undo",
  "/device",
  "/authorize",
  "/first-operator",
  "/deleted",
  "/nothing",
  "/sign-in?error=SessionRequired&done=signed_out",
];

/** Where the service's pages are, as its configuration has it: cookies and redirects name this host. */
const homeOf = (service: Service): string => `http://localhost:${new URL(service.url).port}`;

export type Visit = {
  page: Page;
  /** What no page may do: errors in the console, violations of the policy, requests that leave the host. */
  faults: string[];
};

/** A new person's browser, its pages relative to the service; closed after the test. */
export async function visit(browser: Browser, service: Service, options: BrowserContextOptions = {}): Promise<Visit> {
  const baseURL = homeOf(service);
  const context = await browser.newContext({ baseURL, ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(120_000); // less than a test may take, so that the error names the step
  const page = await context.newPage();
  const faults: string[] = [];
  context.on("console", (message) => {
    // Chromium reports refused forms and missing pages there too; those are what was asked for.
    const isAnswer = message.text().startsWith("Failed to load resource: the server responded with a status of 4");
    const isSlow = message.text().includes("not used within a few seconds"); // of a style sheet, on a busy machine
    if (["error", "warning"].includes(message.type()) && !isAnswer && !isSlow) faults.push(message.text());
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  context.on("request", (request) => {
    if (new URL(request.url()).origin !== baseURL) faults.push(`request to ${request.url()}`);
  });
  return { page, faults };
}

/** A service with these variables, and Chromium, for the tests of a block: both are closed after them. */
export function serviceInChromium(variables: () => Promise<Record<string, string>> = async () => ({})) {
  const web = {} as { service: Service; browser: Browser; visit: (options?: BrowserContextOptions) => Promise<Visit> };
  beforeAll(async () => {
    const env = { RATE_LIMITS: "off", ...(await variables()) };
    const [service, browser] = await Promise.all([startService(env), launchChromium()]);
    Object.assign(web, { service, browser, visit: (options = {}) => visit(browser, service, options) });
  });
  afterAll(async () => {
    await web.browser.close();
    expect(await web.service.end("SIGTERM")).toBe(0);
  });
  return web;
}

/** The minified axe: the other takes longer to send and to compile than most pages take to check. */
const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");

/** Rules of axe by their ids: these alone, or all but these. */
type AxeRules = readonly string[] | { except: readonly string[] };

/**
 * What axe finds wrong with a page, by WCAG 2.2 A and AA and its own best practices. `rules` are for a page that was checked by
 * the other rules before, or one like it.
 */
export async function accessibilityFaults(page: Page, rules: AxeRules = { except: [] }): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const options: axe.RunOptions =
    "except" in rules
      ? { rules: Object.fromEntries(rules.except.map((id) => [id, { enabled: false }])) }
      : { runOnly: [...rules] };
  const run = (given: typeof options) => (window as unknown as { axe: typeof axe }).axe.run(given);
  const { violations } = await page.evaluate(run, { ...options, resultTypes: ["violations"] as ["violations"] });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** The rules of axe that depend on a page's colors. */
export const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/** What is wrong with a page: it is wider than one of the widths, not accessible on the first, or too faint in dark mode. */
export async function layoutFaults(page: Page, widths: readonly number[] = [1280, 768, 360]): Promise<string[]> {
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (beyond > 0) found.push(`${beyond} px wider than ${width} px`);
    if (width === widths[0]) found.push(...(await accessibilityFaults(page)));
  }
  await page.emulateMedia({ colorScheme: "dark" });
  found.push(...(await accessibilityFaults(page, COLOR_RULES)));
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: widths[0] ?? 0, height: 900 });
  return found.map((fault) => `${page.url()}: ${fault}`);
}

export type Person = { email: string; password: string };

const newPerson = (): Person => ({
  email: `visitor-${crypto.randomUUID()}@example.com`,
  password: "a password for pages",
});

/** Somebody new, registered by the API and signed in. Loads no page. */
export async function newVisitor(page: Page, name?: string): Promise<Person> {
  const person = newPerson();
  const headers = { "sec-fetch-site": "same-origin" };
  const registered = await page.request.post("/api/auth/register", { data: { ...person, name }, headers });
  if (registered.status() !== 201) throw new Error(`register returned ${registered.status()}`);
  return person;
}

/** The same, on the account page. */
export async function newVisitorOn(page: Page, name?: string): Promise<Person> {
  const person = await newVisitor(page, name);
  await page.goto("/account");
  return person;
}

/** Somebody new, registered by the page and signed in. */
export async function registerOn(page: Page, name = ""): Promise<Person> {
  const person = newPerson();
  await page.goto("/register");
  if (name) await page.getByLabel("Name").fill(name);
  await page.getByLabel("Email").fill(person.email);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.waitForURL("/account");
  return person;
}

/** Signs in without loading a page. */
export async function signIn(page: Page, { email, password }: Person): Promise<void> {
  const headers = { "sec-fetch-site": "same-origin", accept: "application/json" };
  const response = await page.request.post("/forms/sign-in", { form: { email, password }, headers });
  if (response.status() !== 200) throw new Error(`sign-in returned ${response.status()}`);
}

export async function signInOn(page: Page, person: Person): Promise<void> {
  await page.goto("/sign-in");
  await submitSignIn(page, person);
}

/** Signs in by the page, which is open. */
export async function submitSignIn(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

type Release = { product: string; platform: string; version: string; notes: string };

/** A data folder with the sample catalog in it, its releases as `change` leaves them. */
export async function dataDirWithReleases(change: (release: Release) => void): Promise<string> {
  const dataDir = await preparedDataDir();
  const manifest = path.join(dataDir, "releases", "catalog.json");
  await writeSampleCatalog(manifest);
  const catalog = JSON.parse(await readFile(manifest, "utf8")) as { releases: Release[] };
  for (const release of catalog.releases) change(release);
  await writeFile(manifest, JSON.stringify(catalog));
  return dataDir;
}
