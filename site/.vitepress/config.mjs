import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { defineConfig } from "vitepress";
import { sourceUrl } from "../../scripts/build/source-url.mjs";
import { checkLinks, repositoryLinks, slugify } from "./links.mjs";
import { EXCLUDED, ROOT, sidebar, sitePath } from "./pages.mjs";
import { releaseNews } from "./releases.mjs";

const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8"));
const { version, description, homepage } = manifest;

/** Words, and names such as UPDATE_CHECK and rate_limited. VitePress sends the text of this function to browsers. */
function tokenize(text) {
  return text.split(/[^\p{L}\p{N}_]+/u);
}

export default defineConfig({
  srcDir: ROOT,
  srcExclude: EXCLUDED,
  ignoreDeadLinks: "localhostLinks",
  rewrites: sitePath,
  base: `${new URL(homepage).pathname.replace(/\/$/, "")}/`,
  title: "Homeport",
  description,
  lang: "en",
  head: [
    [
      "style",
      {},
      ":root { --vp-c-brand-1: #0a5a78; --vp-c-brand-2: #0a5a78; --vp-code-lang-color: var(--vp-c-text-2); } .dark { --vp-c-brand-1: #72c7e6; --vp-c-brand-2: #72c7e6; }",
    ],
  ],
  transformHead: ({ siteConfig }) => [["link", { rel: "icon", href: `${siteConfig.site.base}icon.svg` }]],
  outDir: "dist",
  themeConfig: {
    logo: "/icon.svg",
    nav: [
      { text: "Quick start", link: "/#quick-start" },
      { text: "Deployment", link: "/deploy" },
      { text: "HTTP API", link: "/http-api" },
      { text: version, link: "/changelog" },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    search: {
      provider: "local",
      options: { miniSearch: { options: { tokenize }, searchOptions: { combineWith: "AND" } } },
    },
  },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify },
    attrs: { disable: true }, // {braces} are text
    config: (md) => repositoryLinks(md, sourceUrl(manifest)),
  },
  vite: {
    build: { chunkSizeWarningLimit: 1_000 }, // the search index
    // Pages are rendered with the Vue of this package. Vite looks for it beside the pages, which lie outside.
    plugins: [
      {
        name: "own-vue",
        enforce: "pre",
        resolveId: (id, _, { ssr }) => (ssr && /^vue(\/|$)/.test(id) ? { id, external: true } : null),
      },
    ],
  },
  buildEnd: ({ outDir, site }) => {
    writeFileSync(path.join(outDir, "releases.json"), JSON.stringify(releaseNews(), null, 2));
    checkLinks(outDir, site.base);
  },
});
