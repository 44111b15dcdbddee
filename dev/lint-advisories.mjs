import { readFileSync } from "node:fs";
import semver from "semver";

/** How old an advisory may be, at the date of the file, while its fix is not installed. */
const GRACE_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

const [lockFile = "package-lock.json", advisoriesFile = "dev/advisories.json"] = process.argv.slice(2);
const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
const { date, advisories } = JSON.parse(readFileSync(advisoriesFile, "utf8"));

/** The packages of a production installation, optional ones included. */
const installed = Object.entries(packages)
  .filter(([path, { dev }]) => path !== "" && !dev)
  .map(([path, { name, version }]) => ({ name: name ?? path.split("node_modules/").at(-1), version }));

/** Milliseconds since 1970 at the start of a day, such as 2026-11-28. */
function parseDay(text) {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw new Error(`${advisoriesFile}: "${text}" is not a day, such as 2026-11-28`);
  return time;
}

for (const { id, package: name, affected, fixed, published, url } of advisories) {
  const range = new semver.Range(affected); // throws if it is not one: satisfies() would find nothing
  const isOverdue = parseDay(date) - parseDay(published) > GRACE_DAYS * DAY_MS;
  for (const { version } of installed.filter((each) => each.name === name)) {
    if (!semver.satisfies(version, range, { includePrerelease: true })) continue;
    const since = `published ${published}, ${isOverdue ? "more" : "not more"} than ${GRACE_DAYS} days before ${date}`;
    process.stdout.write(
      `${isOverdue ? "error" : "warning"}: ${name} ${version} has ${id} (${affected}; ${since}). Fixed in ${fixed}: ${url}\n`,
    );
    if (isOverdue) process.exitCode = 1;
  }
}
