import Markdown from "markdown-to-jsx/react";
import type { ReactNode } from "react";

/** Renders a release's notes. HTML is shown as text, images as their alt text, and headings follow the page's. */
export function ReleaseNotes({ markdown, heading = "h5" }: { markdown: string; heading?: "h3" | "h5" }) {
  const headings = Object.fromEntries(
    ["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, { component: heading }]),
  );
  const overrides = { ...OVERRIDES, ...headings };
  return (
    <Markdown options={{ disableParsingRawHTML: true, forceBlock: true, wrapper: "div", overrides }}>
      {markdown}
    </Markdown>
  );
}

function Link({ href, children }: { href?: string; children?: ReactNode }) {
  const isWeb = /^https?:\/\//.test(href ?? "");
  return isWeb ? (
    <a href={href} rel="nofollow noopener noreferrer">
      {children}
    </a>
  ) : (
    children
  );
}

function AltText({ alt }: { alt?: string }) {
  return alt ?? null;
}

const OVERRIDES = { a: { component: Link }, img: { component: AltText } };
