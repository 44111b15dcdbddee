import { randomBytes } from "node:crypto";
import type { Caller } from "../audit/caller";
import type { Context } from "../context";
import { preferredLocale } from "../locale";
import { deviceCookieName, parseCookies } from "./cookie";
import type { ReadableHeaders } from "./readable-headers";

const MAX_USER_AGENT_LENGTH = 256;
/** 128 random bits, base64url. */
const DEVICE_ID = /^[\w-]{22}$/;

/** The caller of a request that came from `ip`. */
export function callerOf(
  { config }: Pick<Context, "config">,
  { headers }: { headers: ReadableHeaders },
  ip: string,
): Caller {
  const given = parseCookies(headers.get("cookie"))[deviceCookieName(config)];
  const userAgent = headers.get("user-agent")?.slice(0, MAX_USER_AGENT_LENGTH) ?? null;
  const locale = preferredLocale(headers.get("accept-language"));
  if (given && DEVICE_ID.test(given)) return { ip, userAgent, deviceId: given, locale };
  return { ip, userAgent, locale, deviceId: randomBytes(16).toString("base64url"), isNewDevice: true };
}
