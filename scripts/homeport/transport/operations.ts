import type { HttpRequest } from "./http-client";
import type { operations } from "./operations.generated";
import { PLACES } from "./places.generated";

/** The operations of the admin API, by their ids in the OpenAPI document. */
export type OperationId = keyof operations;

/** Everything is sent as text. */
type Query<Fields> = { [name in keyof Fields]: Fields[name] | TextOf<NonNullable<Fields[name]>> };
type TextOf<Value> = Value extends number ? string : Value extends "true" | "false" ? boolean : never;

type ParamsOf<Id extends OperationId> = operations[Id] extends { parameters: { path: infer Params } }
  ? { params: Params }
  : unknown;
type QueryOf<Id extends OperationId> = operations[Id] extends { parameters: { query?: infer Fields } }
  ? { query?: Query<NonNullable<Fields>> }
  : unknown;
type BodyOf<Id extends OperationId> = operations[Id] extends {
  requestBody: { content: { "application/json": infer Body } };
}
  ? { body: Body }
  : operations[Id] extends { requestBody?: { content: { "application/json": infer Body } } }
    ? { body?: Body }
    : unknown;

/** What an operation takes. `ifMatch`: the ETag of what was shown, of which another change is refused. */
export type InputOf<Id extends OperationId> = ParamsOf<Id> & QueryOf<Id> & BodyOf<Id> & { ifMatch?: string };

export type ResultOf<Id extends OperationId> = operations[Id]["responses"] extends infer Responses
  ? Responses[keyof Responses] extends { content: { "application/json": infer Body } }
    ? Body
    : null
  : never;

/** Values by name. Those that are undefined are left out. */
type Values = Readonly<Record<string, string | number | boolean | undefined>>;
export type AnyInput = { params?: Values; query?: Values; body?: unknown; ifMatch?: string };

/** The request of an operation, without a body. The ids with `head` are not typed: they have no result. */
export function requestOf(
  id: keyof typeof PLACES,
  { params = {}, query = {} }: Pick<AnyInput, "params" | "query"> = {},
): Pick<HttpRequest, "method" | "path"> {
  const [method = "", template = ""] = PLACES[id].split(" ");
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])));
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return { method, path: given.length === 0 ? path : `${path}?${new URLSearchParams(given)}` };
}
