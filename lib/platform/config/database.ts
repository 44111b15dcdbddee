import { z } from "zod";

/** What precedes the hosts, the hosts, and what follows them (PostgreSQL 17, 32.1.1.2 "Connection URIs"). */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/;
const URL_ERROR = "must be postgres://USER:PASSWORD@HOST:PORT/DATABASE; several hosts are HOST1:PORT,HOST2:PORT";
/** libpq's names for the server that accepts writes. */
const WRITABLE = [null, "read-write", "primary"];

/** `DATABASE_URL`: the URL of a PostgreSQL server with one host, or with several of which one accepts writes. */
export const postgresUrl = z
  .string()
  .trim()
  .superRefine((url, ctx) => {
    const urls = hostUrls(url);
    if (urls.some((one) => !isPostgresUrl(one, urls.length > 1))) return ctx.addIssue(URL_ERROR);
    const { searchParams } = new URL(urls[0] ?? "");
    if (searchParams.get("host")?.includes(",")) return ctx.addIssue(URL_ERROR);
    if (!WRITABLE.includes(searchParams.get("target_session_attrs")))
      ctx.addIssue("target_session_attrs must be read-write");
  });

/** Returns a URL for each host that a PostgreSQL URL names. */
export function hostUrls(url: string): string[] {
  const [, start = "", hosts = "", end = ""] = PARTS.exec(url) ?? [];
  return hosts.split(",").map((host) => start + host + end);
}

function isPostgresUrl(url: string, needsHost: boolean): boolean {
  return url !== "" && URL.canParse(url) && !(needsHost && new URL(url).hostname === "");
}
