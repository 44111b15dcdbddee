"use client";

import { useEffect, useState } from "react";

const LOCAL = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

type Props = {
  at: Date;
  /** What it says, and the exact time in UTC. */
  text: string;
  utc: string;
};

/** A time whose title is the exact one in UTC and, with JavaScript, in the browser's time zone. */
export function LocalTime({ at, text, utc }: Props) {
  const [local, setLocal] = useState("");
  const ms = at.getTime();
  useEffect(() => setLocal(`${LOCAL.format(ms)} local time`), [ms]);
  return (
    <time dateTime={at.toISOString()} title={[utc, local].filter(Boolean).join("\n")}>
      {text}
    </time>
  );
}
