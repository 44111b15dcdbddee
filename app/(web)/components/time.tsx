"use client";

import { useEffect, useState } from "react";
import type { Locale } from "@/lib/platform/locale";
import { useSite } from "../language/site-context";

// A browser may format dates by newer rules than the server: React need not report that.

/** The regional format of each language. */
const REGIONS: Record<Locale, string> = { en: "en-GB", de: "de-DE" };
const DAY = { dateStyle: "medium" } as const;
const MINUTE = { dateStyle: "medium", timeStyle: "short" } as const;

/** A date, such as "20 Nov 2026". */
export function Day({ at }: { at: Date }) {
  const { locale } = useSite();
  const text = new Intl.DateTimeFormat(REGIONS[locale], { ...DAY, timeZone: "UTC" }).format(at);
  return (
    <time dateTime={at.toISOString()} suppressHydrationWarning>
      {text}
    </time>
  );
}

/**
 * A time, such as "20 Nov 2026, 14:05 UTC". With JavaScript it becomes "3 minutes ago", or the local time if that is more
 * than a week away, and its title is the local time.
 */
export function TimeText({ at }: { at: Date }) {
  const { locale } = useSite();
  const [local, setLocal] = useState<{ text: string; title: string }>();
  const ms = at.getTime();
  useEffect(() => {
    const show = () => {
      const title = new Intl.DateTimeFormat(REGIONS[locale], MINUTE).format(ms);
      setLocal({ text: relativeTime(ms - Date.now(), locale) ?? title, title });
    };
    show();
    const timer = window.setInterval(show, 60_000);
    return () => window.clearInterval(timer);
  }, [ms, locale]);
  const inUtc = `${new Intl.DateTimeFormat(REGIONS[locale], { ...MINUTE, timeZone: "UTC" }).format(at)} UTC`;
  return (
    <time dateTime={at.toISOString()} title={local?.title} suppressHydrationWarning>
      {local?.text ?? inUtc}
    </time>
  );
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;
const MAX_DAYS = 7;

/** "3 minutes ago" or "in 2 days"; null if it is more than a week away. */
export function relativeTime(ms: number, locale: Locale): string | null {
  if (Math.abs(ms) > MAX_DAYS * 86_400_000) return null;
  const format = new Intl.RelativeTimeFormat(REGIONS[locale], { numeric: "auto" });
  const [unit, size] = UNITS.find(([, unitMs]) => Math.abs(ms) >= unitMs) ?? ["second", Number.POSITIVE_INFINITY];
  return format.format(Math.trunc(ms / size), unit);
}
