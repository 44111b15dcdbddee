import type { components, paths } from "../api.generated.js";
import type { Client, RequestOptions } from "./client.js";
import { HomeportError } from "./problem.js";

/** The schemas of the OpenAPI document, by their names. */
export type Schemas = components["schemas"];

export type Path = keyof paths & string;

/** The methods of a path, in capitals. */
export type Method<P extends Path> = Uppercase<Exclude<keyof paths[P], "parameters"> & string>;

type Operation<P extends Path, M extends string> = paths[P][Lowercase<M> & keyof paths[P]];
type ParametersOf<T, Place extends string> = T extends { parameters: { [K in Place]?: infer Values } } ? Values : never;
type JsonOf<T> = T extends { content: { "application/json": infer Json } } ? Json : undefined;
type BodyOf<T> = T extends { requestBody: infer Body } ? JsonOf<Body> : undefined;
type ResponseOf<T> = T extends { responses: infer All }
  ? { [Status in keyof All]: JsonOf<All[Status]> }[keyof All]
  : never;

export type TypedOptions<P extends Path, M extends Method<P>> = Pick<RequestOptions, "headers" | "signal"> & {
  /** The parameters in the path. */
  params?: ParametersOf<Operation<P, M>, "path">;
  query?: ParametersOf<Operation<P, M>, "query">;
  body?: BodyOf<Operation<P, M>>;
};

/** What an operation returns as JSON, undefined if nothing. */
export type Result<P extends Path, M extends Method<P>> = ResponseOf<Operation<P, M>>;

/**
 * Sends a request to any route of the API, with the types of the OpenAPI document.
 * @example await request(client, "DELETE", "/api/push/devices/{deviceId}", { params: { deviceId } })
 * @throws HomeportError
 */
export async function request<P extends Path, M extends Method<P>>(
  client: Client,
  method: M,
  path: P,
  options: TypedOptions<P, M> = {},
): Promise<Result<P, M>> {
  const { params, query, ...rest } = options;
  const response = await client.send(method, fillIn(path, params ?? {}) + queryOf(query ?? {}), rest);
  return (await readJson(response)) as Result<P, M>;
}

/** The JSON of a response, undefined if it is empty. @throws HomeportError if it is cut off, or not the service's */
export async function readJson(response: Response): Promise<unknown> {
  const { status } = response;
  const text = await response.text().catch((cause: unknown) => {
    throw new HomeportError("network_error", { status, detail: "The response was cut off", cause });
  });
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new HomeportError("unexpected_response", { status, detail: "The response is not JSON", cause });
  }
}

function fillIn(path: string, params: object): string {
  const values = new Map(Object.entries(params));
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
}

function queryOf(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
