import { randomBytes } from "node:crypto";
import type { Context } from "../../context";
import type { Input, RequestScope } from "../../operation";
import type { AnyPrincipal, Caller, Operator } from "../../principal";
import { operatorOf } from "../audit/operator-events";
import type { RequestHead } from "../http-message";
import { preferredLocale } from "../locale";
import { clientNetwork } from "./client-ip";
import { cookieName, parseCookies } from "./cookies";

const MAX_USER_AGENT_LENGTH = 256;
/** 128 random bits, base64url. */
const DEVICE_ID = /^[\w-]{22}$/;
const EMPTY: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} };

export function callerIn({ ctx: { config }, request: { headers }, socketIp }: RequestScope): Caller {
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
  readonly #scope: RequestScope;
  #caller: Caller | undefined;

  constructor(
    scope: RequestScope,
    readonly query: unknown,
    readonly body: unknown,
  ) {
    this.#scope = scope;
    this.ctx = scope.ctx;
    this.request = scope.request;
    this.params = scope.params;
    this.bytes = scope.bytes;
    this.principal = scope.principal as null;
  }

  /** Created once: without a device cookie, the caller has a random device id. */
  get caller(): Caller {
    this.#caller ??= callerIn(this.#scope);
    return this.#caller;
  }

  get operator(): Operator {
    return operatorOf(this.principal as AnyPrincipal | null, this.caller);
  }

  get changeId(): string | undefined {
    return this.#scope.changeId;
  }

  get ip(): string {
    return clientNetwork(this.request.headers, this.#scope.socketIp, this.ctx.config.TRUSTED_PROXY_HOPS);
  }

  /** Opened when its first chunk is read: until then, a client that expects 100 (Continue) sends nothing. */
  get stream(): AsyncIterable<Uint8Array> {
    const { request } = this.#scope;
    return {
      [Symbol.asyncIterator]: () => {
        request.allowLongBody?.();
        return ((request.body ?? EMPTY) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      },
    };
  }

  get log(): Context["log"] {
    return this.ctx.log.child({ requestId: this.#scope.id });
  }
}
