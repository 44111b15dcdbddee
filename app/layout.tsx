import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { pageContext } from "@/lib/http/pages/visitor";
import { ReloadRestoredPage } from "./(web)/components/reload-restored-page";
import "./(web)/styles/base.css";
import "./(web)/styles/components.css";
import "./(web)/styles/forms.css";

export const metadata: Metadata = {
  title: { default: "Homeport", template: "%s – Homeport" },
  description: "Downloads and updates for our apps, and your account.",
};

export const viewport: Viewport = { colorScheme: "light dark" };

// Every response has its own nonce.
export const dynamic = "force-dynamic";

export default function Layout({ children }: { children: ReactNode }) {
  const { build } = pageContext().config;
  return (
    <html lang="en">
      <body>
        <a className="skip" href="#content">
          Skip to content
        </a>
        <header className="site-header">
          <a className="brand" href="/">
            <Logo />
            Homeport
          </a>
          <nav aria-label="Main">
            <a href="/download">Download</a>
            <a href="/account">Account</a>
          </nav>
        </header>
        <main id="content">{children}</main>
        <ReloadRestoredPage />
        <footer className="site-footer">
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

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
      <path d="M6 9v7a10 10 0 0 0 20 0V9" fill="none" stroke="currentColor" strokeWidth="3.5" strokeLinecap="round" />
      <circle cx="16" cy="13" r="3.5" fill="currentColor" />
    </svg>
  );
}
