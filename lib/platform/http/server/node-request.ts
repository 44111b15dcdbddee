import type { IncomingMessage } from "node:http";
import type { RouteRequest } from "../../http-message";

/** The requests whose bodies may take longer than `requestTimeout`. */
const longBodies = new WeakSet<IncomingMessage>();

/** Whether the body of a request may take longer than `requestTimeout`. */
export function hasLongBody(incoming: IncomingMessage): boolean {
  return longBodies.has(incoming);
}

/** A Node request as route handlers read it, without a copy of its headers. */
export class NodeRequest implements RouteRequest {
  readonly method: string;
  /** The normalized path and query, once parseTarget has accepted them. */
  url: string;
  readonly headers: RouteRequest["headers"];
  readonly #incoming: IncomingMessage;
  #beforeBody: (() => void) | undefined;

  /** `beforeBody` is called once, before the body is read. */
  constructor(incoming: IncomingMessage, beforeBody?: () => void) {
    this.method = incoming.method ?? "GET";
    this.url = incoming.url ?? "/";
    this.headers = new NodeHeaders(incoming);
    this.#incoming = incoming;
    this.#beforeBody = beforeBody;
  }

  get signal(): { readonly aborted: boolean } {
    return { aborted: this.#incoming.socket.destroyed };
  }

  allowLongBody(): void {
    longBodies.add(this.#incoming);
  }

  get body(): AsyncIterable<Uint8Array> {
    this.#beforeBody?.();
    this.#beforeBody = undefined;
    // A reader that stops early needs the socket for its response.
    return this.#incoming.iterator({ destroyOnReturn: false });
  }
}

class NodeHeaders {
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  get(name: string): string | null {
    return this.#incoming.headers[name]?.toString() ?? null;
  }

  has(name: string): boolean {
    return this.#incoming.headers[name] !== undefined;
  }
}
