import { readFileSync } from "node:fs";
import path from "node:path";
import { slugify } from "./links.mjs";
import { ROOT, sitePath } from "./pages.mjs";

const read = (file) => readFileSync(path.join(ROOT, file), "utf8");

/** What services with UPDATE_CHECK=on read: the newest version of the changelog, and the advisories of Homeport itself. */
export function releaseNews() {
  const [, heading, version] = /^## (\[(\d+\.\d+\.\d+)\] - .+)$/m.exec(read("CHANGELOG.md"));
  const url = `${sitePath("CHANGELOG.md").replace(/md$/, "html")}#${slugify(heading)}`;
  return { latest: { version, url }, advisories: JSON.parse(read("site/advisories.json")) };
}
