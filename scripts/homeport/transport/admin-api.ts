import { randomUUID } from "node:crypto";
import type { HttpClient } from "./http-client";

/** Values of a query. Those that are undefined are left out. */
type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The admin API, as commands use it: of a service elsewhere, of the one that runs here, or in this process. */
export type AdminApi = {
  /** Sends single requests, such as the parts of an upload. */
  client: HttpClient;
  /** Reads JSON. @throws CodedError with the code of the problem document */
  get: <T>(path: string, query?: Query) => Promise<T>;
  /** Reads what is not JSON. @throws CodedError with the code of the problem document */
  text: (path: string, query?: Query) => Promise<string>;
  /** Makes a change, once: each call has an Idempotency-Key. @throws CodedError with the code of the problem document */
  request: <T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: object) => Promise<T>;
  /** The entries of a list, all or the first `maxEntries`. `field` is the name of the array in each page. */
  list: <T>(path: string, field: string, query?: Query, maxEntries?: number) => Promise<T[]>;
};

/** A type of the API as JSON has it: times are text. */
export type Json<T> = { [name in keyof T]: T[name] extends Date | null ? string | null : T[name] };

const MAX_PAGE = 200;

type Page<T> = Record<string, T[] | string | null>;

/** The admin API behind a client. */
export function createAdminApi(client: HttpClient): AdminApi {
  const get = <T>(path: string, query: Query = {}) => client.json<T>({ method: "GET", path: withQuery(path, query) });
  return {
    client,
    get,
    text: (path, query = {}) => client.text({ method: "GET", path: withQuery(path, query) }),
    request: (method, path, body) =>
      client.json({
        method,
        path,
        headers: { "idempotency-key": randomUUID(), ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
      }),
    list: async <T>(path: string, field: string, query: Query = {}, maxEntries = Number.POSITIVE_INFINITY) => {
      const entries: T[] = [];
      for (let cursor: string | null | undefined; cursor !== null && entries.length < maxEntries; ) {
        const limit = Math.min(maxEntries - entries.length, MAX_PAGE);
        const page: Page<T> = await get<Page<T>>(path, { ...query, limit, cursor });
        entries.push(...((page[field] ?? []) as T[]));
        cursor = page.nextCursor as string | null;
      }
      return entries;
    },
  };
}

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
