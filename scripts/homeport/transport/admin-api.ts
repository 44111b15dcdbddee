import { randomUUID } from "node:crypto";
import type { HttpClient, HttpRequest } from "./http-client";
import { type AnyInput, type InputOf, type OperationId, type ResultOf, requestOf } from "./operations";

/** An input that may be left out if no field of it is required. */
type Given<Input> = object extends Input ? [input?: Input] : [input: Input];

type ListId = { [Id in OperationId]: ResultOf<Id> extends { nextCursor: string | null } ? Id : never }[OperationId];
type ArraysOf<Page> = { [name in keyof Page as Page[name] extends readonly unknown[] ? name : never]: Page[name] };

/**
 * The admin API, as commands use it: of a service elsewhere, of the one that runs here, or in this process. An operation that
 * changes something is made once: each call has an Idempotency-Key. Errors are CommandErrors with the code of the problem document.
 */
export type AdminApi = {
  /** Sends single requests, such as the parts of an upload. */
  client: HttpClient;
  call: <Id extends OperationId>(id: Id, ...input: Given<InputOf<Id>>) => Promise<ResultOf<Id>>;
  /** The same, with the ETag of the response. */
  callWithTag: <Id extends OperationId>(
    id: Id,
    ...input: Given<InputOf<Id>>
  ) => Promise<{ result: ResultOf<Id>; etag: string | undefined }>;
  /** Reads what is not JSON. */
  text: <Id extends OperationId>(id: Id, ...input: Given<InputOf<Id>>) => Promise<string>;
  /** The entries of a list, all or the first `maxEntries`. `field` is the name of the array in each page. */
  list: <Id extends ListId, Field extends keyof ArraysOf<ResultOf<Id>>>(
    id: Id,
    field: Field,
    ...rest: [...input: Given<InputOf<Id>>, maxEntries?: number]
  ) => Promise<ArraysOf<ResultOf<Id>>[Field]>;
};

const MAX_PAGE = 200;

type Page = Record<string, unknown[]> & { nextCursor: string | null };

export function createAdminApi(client: HttpClient): AdminApi {
  const api = {
    client,
    call: (id: OperationId, input?: AnyInput) => client.json<unknown>(toRequest(id, input)),
    callWithTag: (id: OperationId, input?: AnyInput) => client.jsonWithTag<unknown>(toRequest(id, input)),
    text: (id: OperationId, input?: AnyInput) => client.text(toRequest(id, input)),
    list: async (id: ListId, field: string, input: AnyInput = {}, maxEntries = Number.POSITIVE_INFINITY) => {
      const entries: unknown[] = [];
      for (let cursor: string | null | undefined; cursor !== null && entries.length < maxEntries; ) {
        const limit = Math.min(maxEntries - entries.length, MAX_PAGE);
        const query = { ...input.query, limit, cursor };
        const page: Page = await client.json<Page>(toRequest(id, { ...input, query }));
        entries.push(...(page[field] ?? []));
        cursor = page.nextCursor;
      }
      return entries;
    },
  };
  return api as unknown as AdminApi;
}

function toRequest(id: OperationId, input: AnyInput = {}): HttpRequest {
  const { body, ifMatch } = input;
  const request = requestOf(id, input);
  if (request.method === "GET") return request;
  return {
    ...request,
    headers: {
      "idempotency-key": randomUUID(),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}
