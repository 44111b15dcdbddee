import { type ClientOptions, createClient } from "@/clients/js/src/index";
import { call } from "@/tests/support/api";
import { BASE_URL, clock } from "@/tests/support/context";

/** A client of the service under test, and what it has sent, as "METHOD /path". Its waits move the service's clock instead. */
export function newClient(options: Partial<ClientOptions> = {}) {
  const sent: string[] = [];
  const waitsMs: number[] = [];
  const client = createClient({
    url: BASE_URL,
    clientId: "desktop",
    fetch: (input, init) => {
      const { pathname, search } = new URL(String(input));
      sent.push(`${init?.method} ${pathname}`);
      return call(init?.method ?? "GET", pathname + search, {
        headers: Object.fromEntries(new Headers(formOf(init?.body, init?.headers))),
        body: init?.body?.toString(),
      });
    },
    wait: async (ms) => {
      waitsMs.push(ms);
      clock.advance(ms);
    },
    ...options,
  });
  return { client, sent, waitsMs };
}

/** fetch names the type of a form itself. */
function formOf(body: unknown, given?: HeadersInit): Headers {
  const headers = new Headers(given);
  if (body instanceof URLSearchParams) headers.set("content-type", "application/x-www-form-urlencoded");
  return headers;
}
