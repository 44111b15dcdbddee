import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pages, ROOT, sitePath } from "./pages.mjs";

const PUBLIC = "public/";

/** An anchor as GitHub makes it, so that the links of the guides lead to headings there and here. */
export const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");

/**
 * Makes links between files of the repository links between pages of the site. A link to a source file leads to `source`,
 * the URL of the repository's files.
 */
export function repositoryLinks(md, source) {
  md.core.ruler.push("repository_links", ({ tokens, env }) => {
    const folder = path.dirname(path.relative(ROOT, env.realPath ?? env.path));
    for (const token of tokens.flatMap((token) => [token, ...(token.children ?? [])])) {
      if (token.type.startsWith("html_"))
        token.content = token.content.replaceAll(/\b(src|srcset)="(?=\w+\/)/g, '$1="./');
      if (token.type === "link_open") token.attrSet("href", targetOf(token.attrGet("href"), folder, source));
    }
  });
}

/** Where a link of a page leads to on the site. */
function targetOf(href, folder, source) {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const [file, fragment] = href.split("#");
  const target = path.posix.join(folder, decodeURI(file)).replace(/\/$/, "");
  const page = pages.find((page) => page === target || page.startsWith(`${target}/`)); // a folder: its first page
  if (page) return `/${sitePath(page)}${fragment ? `#${fragment}` : ""}`;
  if (target.startsWith(PUBLIC)) return `/${target.slice(PUBLIC.length)}`;
  return `${source}/${target}`;
}

/** Fails if a link of the built site leads to no file of it, or to no element of the page. */
export function checkLinks(folder, base) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".html"));
  const html = new Map(files.map((file) => [file, readFileSync(path.join(folder, file), "utf8")]));
  const ids = new Map(
    [...html].map(([file, text]) => [file, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id))]),
  );
  const isDead = (file, href) => {
    const { origin, pathname, hash } = new URL(href, `http://site${base}${file}`);
    if (origin !== "http://site") return false;
    const target = decodeURI(pathname).slice(base.length) || "index.html";
    if (!decodeURI(pathname).startsWith(base) || !existsSync(path.join(folder, target))) return true;
    return hash !== "" && ids.has(target) && !ids.get(target).has(decodeURIComponent(hash.slice(1)));
  };
  const dead = [...html].flatMap(([file, text]) =>
    [...text.matchAll(/\s(?:href|src)="([^"]+)"/g)]
      .map(([, href]) => href.replaceAll("&amp;", "&"))
      .filter((href) => isDead(file, href))
      .map((href) => `${file}: ${href}`),
  );
  if (dead.length > 0) throw new Error(`Dead links:\n${dead.join("\n")}`);
}
