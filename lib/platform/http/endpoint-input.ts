import { randomBytes } from "node:crypto";
import type { Context } from "../../context";
import type { Input, RequestScope } from "../../operation";
import type { AnyPrincipal, Caller, Operator } from "../../principal";
import { operatorOf } from "../audit/operator-events";
import type { RequestHead, RouteRequest } from "../http-message";
import { preferredLocale } from "../locale";
import { clientNetwork } from "./client-ip";
import { cookieName, parseCookies } from "./cookies";

const MAX_USER_AGENT_LENGTH = 256;
/** 128 random bits, base64url. */
const DEVICE_ID = /^[\w-]{22}$/;
const EMPTY: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} };

type Received = Pick<RequestScope, "ctx" | "socketIp"> & { request: RequestHead };

export function callerIn({ ctx: { config }, request: { headers }, socketIp }: Received): Caller {
  const ip = clientNetwork(headers, socketIp, config.TRUSTED_PROXY_HOPS);
  const given = parseCookies(headers.get("cookie"))[cookieName(config, "device")];
  const userAgent = headers.get("user-agent")?.slice(0, MAX_USER_AGENT_LENGTH) ?? null;
  const locale = preferredLocale(headers.get("accept-language"));
  if (given && DEVICE_ID.test(given)) return { ip, userAgent, deviceId: given, locale };
  return { ip, userAgent, locale, deviceId: randomBytes(16).toString("base64url"), isNewDevice: true };
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

  get operator(): Operator {
    return operatorOf(this.principal as AnyPrincipal | null, this.caller);
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
