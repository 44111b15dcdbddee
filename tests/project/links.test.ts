import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const GUIDES = readdirSync("docs", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".md"))
  .map((file) => path.join("docs", file));
const PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...GUIDES];

/** A page's text without its code, where nothing is a link or a heading. */
function proseOf(page: string): string {
  return readFileSync(page, "utf8").replaceAll(/^```.*?^```/gms, "");
}

/** The anchors of a page's headings, as GitHub makes them: words in small letters, the second of a name with "-1". */
function anchorsOf(page: string): string[] {
  const headings = [...proseOf(page).matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return headings.map((anchor, i) => {
    const before = headings.slice(0, i).filter((other) => other === anchor).length;
    return before === 0 ? anchor : `${anchor}-${before}`;
  });
}

/** What a page links to or shows that is not elsewhere on the web. */
function targetsOf(page: string): string[] {
  const text = proseOf(page).replaceAll(/`[^`\n]*`/g, "");
  const found = [...text.matchAll(/\]\(([^()\s]+)\)/g), ...text.matchAll(/\b(?:href|src)="([^"]+)"/g)];
  return found.map(([, target = ""]) => target).filter((target) => !/^(https?|mailto):/.test(target));
}

function isDead(page: string, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const led = file === "" ? page : path.join(path.dirname(page), file);
  if (!existsSync(led)) return true;
  return anchor !== undefined && !(led.endsWith(".md") && anchorsOf(led).includes(anchor));
}

test("every link of README and the guides leads to a file, and to a heading in it where it names one", () => {
  const links = PAGES.flatMap((page) => targetsOf(page).map((target) => ({ page, target })));
  expect(links.length).toBeGreaterThan(40);
  expect(links.filter(({ page, target }) => isDead(page, target))).toEqual([]);
});

test("every file of ours that README and the guides name is there", () => {
  const named = PAGES.flatMap((page) =>
    [...proseOf(page).matchAll(/`((?:app|deploy|docs|lib|prisma|scripts|tests)\/[\w./()[\]-]+)`/g)].map(
      ([, file = ""]) => ({ page, file }),
    ),
  );
  expect(named.length).toBeGreaterThan(60);
  const isExample = (file: string) => file.includes("NAME");
  expect(named.filter(({ file }) => !isExample(file) && !existsSync(file))).toEqual([]);
});
