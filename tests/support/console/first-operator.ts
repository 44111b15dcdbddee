import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { vi } from "vitest";
import type { Service } from "../process/service";
import type { Person } from "../web/pages";

/** The path of the link for the first operator. The service prints it once it listens, so it may not be there yet. */
export async function firstOperatorLink(service: Service): Promise<string> {
  const find = () => {
    const [, link] = /(\/first-operator#token=[\w.-]+)/.exec(service.output()) ?? [];
    if (link === undefined) throw new Error("No link for the first operator was printed");
    return link;
  };
  return vi.waitFor(find, { timeout: 30_000 });
}

/** Registers the first operator, who is an admin, by the link that the service has printed. */
async function becomeOperator(page: Page, service: Service): Promise<Person> {
  const person = { email: `admin-${crypto.randomUUID()}@example.com`, password: "a password for operators" };
  const [, token = ""] = (await firstOperatorLink(service)).split("#token=");
  const headers = { "sec-fetch-site": "same-origin", accept: "application/json" };
  const post = async (form: string, fields: Record<string, string>) => {
    const response = await page.request.post(`/forms/first-operator/${form}`, { form: fields, headers });
    if (response.status() !== 200) throw new Error(`${form}: ${response.status()} ${await response.text()}`);
  };
  await post("open", { token });
  await post("register", person);
  return person;
}

/** The first operator, with a session for the API and one for browsers. */
export type FirstOperator = Person & { id: string; token: string; storageState: BrowserContextOptions["storageState"] };

/** Registers the first operator in a browser, which it closes. */
export async function newFirstOperator(browser: Browser, service: Service): Promise<FirstOperator> {
  const page = await browser.newPage({ baseURL: `http://localhost:${new URL(service.url).port}` });
  const person = await becomeOperator(page, service);
  const storageState = await page.context().storageState();
  await page.close();
  const login = await service.post("/api/auth/login", person);
  const { user, token } = (await login.json()) as { user: { id: string }; token: string };
  return { ...person, id: user.id, token, storageState };
}
