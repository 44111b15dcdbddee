import type { IncomingMessage } from "node:http";
import { AppError } from "../../../errors";

/** `pathname` is normalized and can be compared with the paths of routes. `search` is as sent. */
export type RequestTarget = { pathname: string; search: string };

/** Next's time for a page is quadratic in the number of parameters; no page and no route has a fifth of these. */
const MAX_PARAMETERS = 50;
/** A path that needs no normalization: no empty or dot segments, nothing encoded. */
const PLAIN_PATH = /^(?:[/*]|(?:\/[\w~-][\w.~-]*)+)$/;
/** RFC 3986, 3.2.2 and 3.2.3; empty where the target has no authority. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;
/** Letters, digits, `-`, `.`, `_` and `~`, whose encoded and plain forms are equivalent (RFC 3986, 6.2.2.2). */
const ENCODED_UNRESERVED = /%(?:2d|2e|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/gi;
/** A backslash, which some parsers read as a slash; a fragment; anything but printable ASCII. */
const FORBIDDEN = /[\\#]|[^!-~]/;

/**
 * The path and query of a request. The host of a target in absolute form is ignored (RFC 9112, 3.2.2). The path has one
 * meaning from here on, for the routes and for Next.
 * @throws AppError malformed_request for an invalid target or Host header, and for more than one Host header (RFC 9112,
 * 3.2); too_many_parameters; not_found for a path with an empty segment
 */
export function parseTarget(incoming: IncomingMessage): RequestTarget {
  requireOneHost(incoming);
  const target = originForm(incoming.url ?? "");
  const at = target.indexOf("?");
  if (at >= 0) requireFewParameters(target, at);
  const pathname = at < 0 ? target : target.slice(0, at);
  const search = at < 0 ? "" : target.slice(at);
  return { pathname: PLAIN_PATH.test(pathname) ? pathname : normalize(pathname), search };
}

function requireFewParameters(target: string, start: number): void {
  let count = 1;
  for (let at = target.indexOf("&", start); at >= 0; at = target.indexOf("&", at + 1)) count += 1;
  if (count > MAX_PARAMETERS) throw new AppError("too_many_parameters");
}

function requireOneHost({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === 4 && rawHeaders[i]?.toLowerCase() === "host") count += 1;
  }
  if (count > 1) throw malformed("Send one Host header.");
  if (count === 0 && httpVersion === "1.1") throw malformed("Send a Host header.");
  if (!HOST.test(headers.host ?? "")) throw malformed("The Host header is not valid.");
}

function originForm(target: string): string {
  if (target.startsWith("/") || target === "*") return target;
  const [, authority, rest] = /^https?:\/\/([^/?#]+)([\s\S]*)/i.exec(target) ?? [];
  if (authority === undefined || rest === undefined || !HOST.test(authority)) throw malformed();
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function normalize(pathname: string): string {
  if (FORBIDDEN.test(pathname)) throw malformed();
  // Before decoding: a stray % could form a new encoded character with what follows ("%%32%65" becomes "%2e").
  if (!isDecodable(pathname)) throw malformed("The path is not valid percent-encoded UTF-8.");
  const path = pathname.replace(ENCODED_UNRESERVED, decodeURIComponent);
  if (/\/\.\.?(?:\/|$)/.test(path)) throw malformed("The path must not have dot segments.");
  if (path.includes("//")) throw new AppError("not_found");
  return path;
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function malformed(detail = "The request target is not valid."): AppError {
  return new AppError("malformed_request", detail);
}
