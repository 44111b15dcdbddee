import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { pageContext } from "@/lib/http/pages/visitor";
import { NeverStale } from "./(web)/parts/never-stale";
import "./(web)/styles/base.css";
import "./(web)/styles/parts.css";
import "./(web)/styles/forms.css";

export const metadata: Metadata = {
  title: { default: "Homeport", template: "%s – Homeport" },
  description: "Updates, accounts, notifications and subscriptions for our apps.",
};

export const viewport: Viewport = { colorScheme: "light dark" };

// Each answer has a nonce of its own.
export const dynamic = "force-dynamic";

export default function Layout({ children }: { children: ReactNode }) {
  const { build } = pageContext().config;
  return (
    <html lang="en">
      <body>
        <a className="skip" href="#content">
          Skip to the content
        </a>
        <header className="top">
          <a className="brand" href="/">
            <Mark />
            Homeport
          </a>
          <nav aria-label="Main">
            <a href="/download">Download</a>
            <a href="/account">Account</a>
          </nav>
        </header>
        <main id="content">{children}</main>
        <NeverStale />
        <footer className="bottom">
          <span>Homeport {build.version}</span>
          <nav aria-label="Reference">
            <a href="/docs">API reference</a>
            <a href="/docs/errors">Errors</a>
          </nav>
        </footer>
      </body>
    </html>
  );
}

/** A harbour: a mole around a ship that has come home. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <path d="M6 9v7a10 10 0 0 0 20 0V9" fill="none" stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" />
      <circle cx="16" cy="13" r="3.5" fill="currentColor" />
    </svg>
  );
}
