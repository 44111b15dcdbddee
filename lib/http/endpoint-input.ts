import type { Caller } from "../audit/caller";
import { callerOf } from "../auth/request-caller";
import type { Context } from "../context";
import { clientNetwork } from "./client-ip";
import type { Input, RequestScope } from "./endpoint";
import type { RequestHead, RouteRequest } from "./route-request";

const EMPTY: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} };

type Received = Pick<RequestScope, "ctx" | "socketIp"> & { request: RequestHead };

/** The client of a request. */
export function callerIn({ ctx, request, socketIp }: Received): Caller {
  return callerOf(ctx, request, clientNetwork(request.headers, socketIp, ctx.config.TRUSTED_PROXY_HOPS));
}

/**
 * A handler's input. What few handlers need is created when it is read. A class, because getters of an object literal
 * are functions that would be created again for each request.
 */
export class EndpointInput implements Input {
  readonly ctx: Context;
  readonly request: RequestHead;
  readonly params: unknown;
  readonly bytes: Uint8Array;
  readonly principal: null;
  readonly #id: string;
  readonly #socketIp: string | undefined;
  readonly #received: RouteRequest;
  #caller: Caller | undefined;

  constructor(
    { ctx, id, request, socketIp, params, bytes, principal }: RequestScope,
    readonly query: unknown,
    readonly body: unknown,
  ) {
    this.ctx = ctx;
    this.request = request;
    this.#received = request;
    this.params = params;
    this.bytes = bytes;
    this.principal = principal as null;
    this.#id = id;
    this.#socketIp = socketIp;
  }

  /** Created once: without a device cookie, the caller has a random device id. */
  get caller(): Caller {
    this.#caller ??= callerIn({ ctx: this.ctx, request: this.request, socketIp: this.#socketIp });
    return this.#caller;
  }

  get ip(): string {
    return clientNetwork(this.request.headers, this.#socketIp, this.ctx.config.TRUSTED_PROXY_HOPS);
  }

  /** Opened when its first chunk is read: until then, a client that expects 100 (Continue) sends nothing. */
  get stream(): AsyncIterable<Uint8Array> {
    const request = this.#received;
    return {
      [Symbol.asyncIterator]: () => {
        request.allowLongBody?.();
        return ((request.body ?? EMPTY) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      },
    };
  }

  get log(): Context["log"] {
    return this.ctx.log.child({ requestId: this.#id });
  }
}
