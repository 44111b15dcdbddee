import Markdown from "markdown-to-jsx/react";
import type { ReactNode } from "react";

/** Renders a release's notes. HTML is shown as text, images as their alt text, headings as h5. */
export function ReleaseNotes({ markdown }: { markdown: string }) {
  return (
    <Markdown options={{ disableParsingRawHTML: true, forceBlock: true, wrapper: "div", overrides: OVERRIDES }}>
      {markdown}
    </Markdown>
  );
}

function Heading({ children }: { children?: ReactNode }) {
  return <h5>{children}</h5>;
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

const OVERRIDES = {
  ...Object.fromEntries(["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => [name, { component: Heading }])),
  a: { component: Link },
  img: { component: AltText },
};
