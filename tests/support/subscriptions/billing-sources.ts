import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { createBillingApis } from "@/lib/platform/adapters/billing-sources";
import type { ImportedPurchase, ImportedPurchases } from "@/lib/subscriptions/import/schema";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { listen } from "@/tests/support/network/listen";
import { providerSettings, type Request } from "./provider-objects";
import { send } from "./revenuecat";

type Responder = (url: URL, response: ServerResponse, request: Request) => unknown;

/** A fake of a provider's API. A responder sends a response, or returns its JSON. */
export async function startProvider() {
  const requests: Request[] = [];
  let responder: Responder = () => ({});
  const server = createServer({ keepAliveTimeout: 0 }, async (request: IncomingMessage, response) => {
    const url = new URL(request.url ?? "", "http://provider");
    const { method = "", headers } = request;
    const given = { method, url, authorization: headers.authorization, body: await text(request) };
    requests.push(given);
    const body = await responder(url, response, given);
    if (!response.headersSent && !response.destroyed) send(response, 200, body);
  });
  const address = await listen(server);
  return {
    url: `http://${address}`,
    requests,
    respond: (next: Responder) => {
      responder = next;
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Runs with keys for a fake. */
export function withKeys<T>(url: string, run: () => Promise<T>): Promise<T> {
  const config = providerSettings(url);
  const { revenuecat } = ctx().billing;
  const billing = { ...createBillingApis({ ...ctx().config, ...config }), revenuecat };
  return withContext({ config, billing }, run);
}

/** Sends one request for an import. */
export async function postImport(query: Record<string, string>, body?: string) {
  const { key } = await newKey({ scopes: ["billing:write"] });
  const path = `/api/admin/billing/import?${new URLSearchParams(query)}`;
  const headers = { "content-type": "application/x-ndjson" };
  const response = await call("POST", path, { token: key, ...(body !== undefined && { body, headers }) });
  const json = (await response.json()) as ImportedPurchases & { code?: string; detail?: string };
  return { status: response.status, body: json };
}

export const requestImport = (url: string, query: Record<string, string>, body?: string) =>
  withKeys(url, () => postImport(query, body));

/** Imports until the end, or until the provider asks to wait. */
export async function importAll(
  url: string,
  query: Record<string, string>,
  body?: string,
): Promise<ImportedPurchase[]> {
  const results: ImportedPurchase[] = [];
  for (let cursor: string | null | undefined; ; ) {
    const page = await requestImport(url, { ...query, ...(cursor && { cursor }) }, body);
    if (page.status !== 200) throw new Error(`the import answered ${page.status}: ${JSON.stringify(page.body)}`);
    results.push(...page.body.results);
    cursor = page.body.nextCursor;
    if (cursor === null || page.body.retry) return results;
  }
}
