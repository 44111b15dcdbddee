"use client";

import { usePathname } from "next/navigation";
import { useEffect, useRef, useState } from "react";
import { Form } from "../components/form";
import { useTexts } from "../language/site-context";
import { FRAME } from "./texts";

type SessionUser = { name?: string; email: string; role: string };
type Visitor = { name: string | null; email: string; isOperator: boolean };

const isReference = (pathname: string) => pathname === "/docs" || pathname.startsWith("/docs/");

type Props = {
  visitor: Visitor | null;
  /** Whether the page is rendered once for everybody, as the reference is: the browser asks who is signed in. */
  isForEverybody?: boolean | undefined;
};

/** Who is signed in, with a menu; otherwise a link to sign in. */
export function AccountMenu({ visitor, isForEverybody = false }: Props) {
  const texts = useTexts(FRAME);
  const pathname = usePathname();
  const found = useSessionVisitor(visitor === null && (isForEverybody || isReference(pathname)));
  const shown = visitor ?? found;
  if (!shown) return <a href="/sign-in">{texts.signIn}</a>;
  const name = shown.name ?? shown.email;
  return (
    <Menu label={name}>
      <p className="menu-email">{shown.email}</p>
      <a href="/account">{texts.account}</a>
      {shown.isOperator && <a href="/console">{texts.console}</a>}
      <Form action="/forms/sign-out">
        <button type="submit" className="quiet">
          {texts.signOut}
        </button>
      </Form>
    </Menu>
  );
}

/** The first character as people read it: an emoji can be several code points (UAX #29). Bidi controls are not seen. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.replace(/^[\p{Bidi_Control}\s]+/u, ""));
  return (first?.segment ?? "").toUpperCase();
}

/** A menu that works without JavaScript. With it, Escape and a click elsewhere close it. */
function Menu({ label, children }: { label: string; children: React.ReactNode }) {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      if (!details.current?.open || details.current.contains(event.target as Node)) return;
      details.current.open = false;
    };
    const closeByKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || !details.current?.open) return;
      details.current.open = false;
      details.current.querySelector("summary")?.focus();
    };
    document.addEventListener("click", close);
    document.addEventListener("keydown", closeByKey);
    return () => {
      document.removeEventListener("click", close);
      document.removeEventListener("keydown", closeByKey);
    };
  }, []);
  return (
    <details className="menu" ref={details}>
      <summary>
        <span className="initial" aria-hidden="true">
          {initialOf(label)}
        </span>
        <bdi className="menu-name">{label}</bdi>
      </summary>
      <div className="menu-panel">{children}</div>
    </details>
  );
}

/** Leads an operator back from a page that does not exist below /console. The not-found page is rendered for everybody. */
export function ConsoleLink() {
  const texts = useTexts(FRAME);
  const [isConsole, setConsole] = useState(false);
  useEffect(() => setConsole(/^\/console(\/|$)/.test(window.location.pathname)), []);
  const visitor = useSessionVisitor(isConsole);
  if (!visitor?.isOperator) return null;
  return (
    <p>
      <a href="/console">{texts.console}</a>
    </p>
  );
}

function useSessionVisitor(isAsked: boolean): Visitor | null {
  const [visitor, setVisitor] = useState<Visitor | null>(null);
  useEffect(() => {
    if (!isAsked) return;
    const ask = async () => {
      const { user } = (await (await fetch("/api/auth/session")).json()) as { user?: SessionUser };
      if (user) setVisitor({ name: user.name ?? null, email: user.email, isOperator: user.role !== "user" });
    };
    ask().catch(() => {}); // the link to sign in stays
  }, [isAsked]);
  return visitor;
}
