import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Operation } from "@/app/(web)/docs/reference/document";
import { GROUPS } from "@/app/(web)/docs/reference/groups";
import { sampleRequest } from "@/app/(web)/docs/samples/request";
import { curlSample } from "@/app/(web)/docs/samples/samples";
import { newFolder } from "@/tests/support/guide";
import { operatorKeyOf, registerAt, type Service, startService } from "@/tests/support/process/service";
import { hasCommands } from "@/tests/support/requirements";
import { hasChromium, launchChromium } from "@/tests/support/web/chromium";
import { accessibilityFaults, COLOR_RULES, newVisitorOn, visit } from "@/tests/support/web/pages";

const run = promisify(execFile);

/** What the files at `/.well-known` are made of. */
const APPS = {
  AUTH_PASSKEY_APPLE_APPS: "ABCDE12345.com.example.app",
  SECURITY_CONTACT: "security@example.com",
  PASSKEY_RELATED_ORIGINS: "https://www.example.org",
  AUTH_PASSKEY_ANDROID_APPS: `com.example.app=${Array(32).fill("14").join(":")}`,
};

let service: Service;
let browser: Browser | undefined;

beforeAll(async () => {
  service = await startService({ RATE_LIMITS: "off", ...APPS });
  browser = hasChromium ? await launchChromium() : undefined;
});
afterAll(async () => {
  await browser?.close();
  await service.end("SIGKILL");
});

/** What a sample may not be refused for: it would be a bad example. */
const BAD_EXAMPLE = [
  "malformed_json",
  "unsupported_media_type",
  "method_not_allowed",
  "invalid_query",
  "validation_failed",
  "unauthenticated",
  "not_found",
];
/** What needs something that a new account or this service does not have. */
const EXPECTED: Record<string, string> = {
  removeTotp: "not_found", // an authenticator app
  createPasskeyStepUpOptions: "not_found", // a passkey
  handleAppleCallback: "not_found", // a client at Apple
  handleAppleFormPost: "not_found",
  assignPurchases: "validation_failed unknown", // the account
  sendTestEvent: "validation_failed unknown", // the account
  grantEntitlement: "not_found", // the account
  listGrants: "not_found", // the account
  importAccounts: "malformed_json", // a file of records
  reportCspViolation: "malformed_json", // a report of a browser
  publishReleases: "validation_failed unknown_upload", // the uploads
};

/** Whether the error codes say that the sample is a bad example. The ids in paths are of nothing that exists here. */
function isBadExample({ operationId, path: route }: Operation, codes: string[]): boolean {
  const [code = ""] = codes;
  if (!BAD_EXAMPLE.includes(code) || EXPECTED[operationId] === codes.join(" ")) return false;
  return !(code === "not_found" && route.includes("{"));
}

/**
 * Runs the curl samples of operations in a folder: a shell reads them, and one curl sends all requests. Returns the status and the
 * error codes of each response, those of fields included.
 */
async function runSamples(operations: Operation[], cwd: string, variables: Record<string, string>) {
  const collect = `curl() { requests+=(--next --silent --write-out '\n%{http_code} is the status\n' "$@"); }`;
  const samples = operations.map((operation) => curlSample(sampleRequest(operation, service.url)));
  const script = [collect, ...samples, `command curl --fail-early "\${requests[@]:1}"`].join("\n");
  const { stdout } = await run("bash", ["-euc", script], {
    env: { ...process.env, ...variables },
    cwd,
    maxBuffer: 20_000_000,
    encoding: "latin1",
  });
  return [...stdout.matchAll(/([\s\S]*?)\n(\d+) is the status\n/g)].map(([, body = "", status = ""]) => ({
    status,
    codes: [...body.matchAll(/"code":"(\w+)"/g)].map(([, code = ""]) => code),
  }));
}

test("/llms.txt leads to pages as Markdown, which the pages of the reference link", async () => {
  const list = await (await fetch(`${service.url}/llms.txt`)).text();
  const urls = [...list.matchAll(/\((http[^)]+\.md)\)/g)].map(([, url = ""]) => url);
  expect(urls.length).toBeGreaterThan(GROUPS.length);
  for (const url of urls) {
    const markdown = await fetch(url);
    expect([url, markdown.status, markdown.headers.get("content-type")]).toEqual([
      url,
      200,
      expect.stringMatching(/^text\/markdown/),
    ]);
    expect(await markdown.text()).toMatch(/^# /);
    const page = await (await fetch(url.replace(/\.md$/, ""))).text();
    expect(page).toContain(`<a href="${new URL(url).pathname}">`);
  }
});

describe.runIf(hasCommands("bash", "curl"))("the curl samples of the reference", () => {
  test("are understood by the service, which responds as documented", async () => {
    const [{ token: TOKEN }, API_KEY] = await Promise.all([registerAt(service), operatorKeyOf(service)]);
    const folder = await newFolder();
    await writeFile(path.join(folder, "file"), "content");
    const operations = GROUPS.flatMap((group) => group.operations);
    const variables = { TOKEN, API_KEY, WEBHOOK_AUTHORIZATION: "Bearer unknown" };
    const responses = await runSamples(operations, folder, variables);
    expect(responses).toHaveLength(operations.length);
    const faults = operations.flatMap((operation, i) => {
      const { status = "", codes = [] } = responses[i] ?? {};
      const isDocumented = status in operation.responses;
      return isDocumented && !isBadExample(operation, codes) ? [] : [[operation.operationId, status, codes]];
    });
    expect(faults).toEqual([]);
  });
});

describe.runIf(hasChromium)("in Chromium", () => {
  const open = async () => visit(browser as Browser, service, { viewport: { width: 360, height: 740 } });

  /** The kinds of elements on a page: by tag and class, and by those of the parent. */
  const kindsOn = (page: Page): Promise<string[]> =>
    page.evaluate(() => {
      const nameOf = (element: Element | null) => `${element?.tagName}.${element?.className}`;
      return [...document.querySelectorAll("*")].map((one) => `${nameOf(one.parentElement)} ${nameOf(one)}`);
    });

  test("every page of the reference is accessible on a phone, and nothing is wider than it", async () => {
    const { page, faults } = await open();
    const seen = new Set<string>();
    const groups = GROUPS.map((group) => `/${group.slug}`);
    for (const slug of new Set(["/web", "", ...groups, "/webhooks", "/schemas", "/errors"])) {
      await page.goto(`/docs${slug}`);
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      const kinds = await kindsOn(page);
      // The colors of an element depend on its kind.
      const rules = { except: kinds.every((kind) => seen.has(kind)) ? COLOR_RULES : [] };
      expect([slug, beyond, await accessibilityFaults(page, rules), faults]).toEqual([slug, 0, [], []]);
      for (const kind of kinds) seen.add(kind);
    }
  });

  test("a link to the former single page leads to the operation's new place", async () => {
    const { page } = await open();
    await page.goto("/docs#logIn");
    await page.waitForURL("/docs/web#logIn");
    await page.goto("/docs#schema-Auth");
    await page.waitForURL("/docs/schemas#schema-Auth");
  });

  test("the search leads to an operation, and a request of one's own session is tried there", async () => {
    const { page, faults } = await open();
    const { email } = await newVisitorOn(page);
    await page.goto("/docs");
    await page.getByLabel("Search the reference").fill("auth/session get");
    await page.getByRole("link", { name: /GET \/api\/auth\/session/ }).click();
    const operation = page.locator("section.operation", { has: page.getByText("/api/auth/session", { exact: true }) });
    await operation.first().getByText("Try it").click();
    await operation.first().getByRole("button", { name: "Send" }).click();
    await operation.first().getByText("200 OK").waitFor();
    expect(await operation.first().getByRole("status").innerText()).toContain(email);
    await operation.first().getByRole("tab", { name: "Swift" }).click();
    expect(await operation.first().getByRole("tabpanel").innerText()).toContain("URLSession");
    expect(faults).toEqual([]);
  });
});
