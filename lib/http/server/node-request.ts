import type { IncomingMessage } from "node:http";
import type { RouteRequest } from "../route-request";

/** A node request as routes read it; nothing of it is copied. */
export class NodeRequest implements RouteRequest {
  readonly method: string;
  /** The target's path and query, once they are known to be sound. */
  url: string;
  readonly #incoming: IncomingMessage;
  #beforeBody: (() => void) | undefined;

  /** `beforeBody` is called once, when the body is about to be read. */
  constructor(incoming: IncomingMessage, beforeBody?: () => void) {
    this.method = incoming.method ?? "GET";
    this.url = incoming.url ?? "/";
    this.#incoming = incoming;
    this.#beforeBody = beforeBody;
  }

  get headers(): RouteRequest["headers"] {
    const { headers } = this.#incoming;
    return {
      get: (name) => headers[name]?.toString() ?? null,
      has: (name) => headers[name] !== undefined,
    };
  }

  get body(): AsyncIterable<Uint8Array> {
    this.#beforeBody?.();
    this.#beforeBody = undefined;
    // Whoever stops reading still has to be answered on the same socket.
    return this.#incoming.iterator({ destroyOnReturn: false });
  }
}
