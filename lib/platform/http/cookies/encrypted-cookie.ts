import type { JWTPayload } from "jose";
import type { Context } from "../../../context";
import { decryptToken, encryptToken } from "../../keys/encrypted-token";
import { parseCookies, setCookie } from "./cookies";

type Config = Context["config"];

/** The Set-Cookie header of a cookie whose claims only this service can write and read. Its name is the purpose. */
export async function setEncryptedCookie(
  config: Config,
  now: Date,
  { name, claims, ttlSeconds }: { name: string; claims: JWTPayload; ttlSeconds: number },
): Promise<string> {
  const value = await encryptToken(config.secrets, claims, { purpose: name, ttlSeconds });
  return setCookie(config, name, value, new Date(now.getTime() + ttlSeconds * 1000));
}

/** The claims of an encrypted cookie; null if there is none, or it is invalid or expired. */
export async function readEncryptedCookie(
  config: Config,
  cookieHeader: string | null,
  name: string,
): Promise<JWTPayload | null> {
  const value = parseCookies(cookieHeader)[name];
  return value ? decryptToken(config.secrets, value, name) : null;
}
