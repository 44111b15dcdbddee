import { compare, satisfies, valid, validRange } from "semver";
import { z } from "zod";
import type { Context } from "../context";
import { fetchJson } from "./outbound";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "log">;

const LIMITS = { timeoutMs: 10_000, maxBytes: 64 * 1024 };
const SEVERITIES = ["critical", "high", "moderate", "low"] as const;

/** One line of text, without control and format characters. */
const Line = z.string().regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u);

/** What `url` serves, whose links may be relative to it. `npm run docs` writes the project's own. */
export const releaseNewsAt = (url: string) => {
  const Link = z
    .string()
    .max(500)
    .transform((link) => (URL.canParse(link, url) ? new URL(link, url).href : ""))
    .refine((link) => /^https:/.test(link) || link.startsWith(`${new URL(url).origin}/`), "Must be an https URL");
  const latest = z.object({
    version: Line.refine((version) => valid(version) === version, "Must be a version"),
    url: Link,
  });
  const advisory = z.object({
    id: Line,
    title: Line,
    severity: z.enum(SEVERITIES),
    /** As npm writes ranges. */
    affected: Line.refine((range) => validRange(range) !== null, "Must be a range of versions"),
    url: Link,
  });
  return z.object({ latest, advisories: z.array(advisory).max(50) });
};
type ReleaseNews = z.infer<ReturnType<typeof releaseNewsAt>>;

/**
 * With UPDATE_CHECK=on, asks for newer versions and advisories, stores the response and logs what concerns this version.
 * Of all processes, one asks once a day, whether it gets a response or not. Sends nothing but this version.
 * @throws Error if there is no valid response: the last one stays
 */
export async function checkForUpdates({ config, db, dbNow, log }: Deps): Promise<void> {
  const { UPDATE_CHECK, UPDATE_CHECK_URL: url, build } = config;
  if (UPDATE_CHECK === "off" || url === undefined) return;
  const claimed = await db.$executeRaw`
    INSERT INTO "UpdateCheck" AS last ("url", "askedAt") VALUES (${url}, ${dbNow()})
    ON CONFLICT ("url") DO UPDATE SET "askedAt" = EXCLUDED."askedAt"
    WHERE last."askedAt" NOT BETWEEN EXCLUDED."askedAt" - interval '1 day' AND EXCLUDED."askedAt"`;
  if (claimed === 0) return;
  const news = releaseNewsAt(url).parse(await fetchJson(url, { ...LIMITS, userAgent: `homeport/${build.version}` }));
  await db.$executeRaw`
    UPDATE "UpdateCheck" SET "answeredAt" = "askedAt", "news" = ${JSON.stringify(news)}::jsonb WHERE "url" = ${url}`;
  const { newest, advisories } = concerning(build.version, news);
  if (newest) log.info(newest, "a newer version is available");
  for (const advisory of advisories) log.warn(advisory, "this version has a security advisory");
}

/** What concerns a version: a newer one, if there is one, and its advisories, the worst first. */
function concerning(version: string, { latest, advisories }: ReleaseNews) {
  return {
    newest: compare(latest.version, version) > 0 ? latest : null,
    advisories: advisories
      .filter(({ affected }) => satisfies(version, affected, { includePrerelease: true }))
      .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity)),
  };
}

/** What the last valid response says about this version, and when it came; null before the first one. */
export type UpdateState = ReturnType<typeof concerning> & { version: string; answeredAt: Date };

/** Reads the last response. undefined: UPDATE_CHECK is off. */
export async function readUpdateState({
  config,
  db,
}: Pick<Deps, "config" | "db">): Promise<UpdateState | null | undefined> {
  const { UPDATE_CHECK, UPDATE_CHECK_URL: url, build } = config;
  if (UPDATE_CHECK === "off" || url === undefined) return undefined;
  const row = await db.updateCheck.findUnique({ where: { url } });
  const { data: news } = releaseNewsAt(url).safeParse(row?.news);
  if (!row?.answeredAt || !news) return null;
  return { ...concerning(build.version, news), version: build.version, answeredAt: row.answeredAt };
}
