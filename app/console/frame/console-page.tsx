import type { Metadata } from "next";
import { headers } from "next/headers";
import { notFound } from "next/navigation";
import type { ReactNode } from "react";
import type { z } from "zod";
import { pageContext } from "@/lib/auth/visitor";
import type { Context } from "@/lib/context";
import { AppError, isAppError } from "@/lib/errors";
import { type FormOperation, formPath } from "@/lib/operation";
import type { Flash } from "@/lib/platform/http/pages/flash";
import { LOCALES } from "@/lib/platform/locale";
import { Notice } from "../../(web)/components/notice";
import { readFormState } from "../../(web)/components/page-props";
import { ResumeForm } from "../../(web)/confirm/resume-form";
import { SiteProvider } from "../../(web)/language/site-context";
import { FormValues } from "../components/fields";
import { ConsoleFrame } from "./console-frame";
import { type ConsoleOperator, hasRole, type OperatorRole, requireOperator } from "./operator";
import { type Fields, renderQuery } from "./page-query";

type NextProps = {
  params: Promise<Record<string, string>>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
};

/** What a page of the console is rendered from. */
type Input<Query> = {
  ctx: Context;
  operator: ConsoleOperator;
  params: Record<string, string>;
  query: Query;
  /** The errors of a form that was posted without JavaScript. */
  flash: Flash | null;
};

type Options<Query> = {
  /** The least role. Operators without it get "not found". */
  role?: OperatorRole;
  /** The query parameters that the page reads. An empty one counts as absent. */
  query?: z.ZodType<Query>;
  /** Those that the operator fills in: only their fields say what is wrong with them. */
  queryFields?: readonly string[];
  /** The message for each `done` that a form returns. */
  done?: Record<string, string>;
  /** The operations whose forms show their errors themselves: `<OperationForm flash>`. */
  ownForms?: readonly FormOperation[];
};

/**
 * A page of the console: the gate, the frame, the query parameters and the outcome of forms. `render` makes the content. If
 * it throws AppError not_found, the page does not exist. If it throws invalid_query, see `renderQuery`. Other AppErrors are
 * shown in the frame.
 */
export function consolePage<Query = unknown>(
  { role = "support", query: schema, queryFields = [], done = {}, ownForms = [] }: Options<Query>,
  render: (input: Input<Query>) => Promise<ReactNode>,
) {
  return async function Page({ params, searchParams }: NextProps) {
    const operator = await requireOperator();
    if (!hasRole(operator, role)) notFound();
    const ctx = pageContext();
    const given = toFields(await searchParams);
    const flash = await readFormState((await headers()).get("cookie"), given.formErrors);
    const found = await params;
    const { content, errors } = await renderQuery(schema, given, (query) =>
      render({ ctx, operator, params: found, query, flash: flash?.resume === "now" ? null : flash }),
    ).catch((error) => ({ content: describeError(error), errors: {} }));
    return (
      <SiteProvider site={{ locale: LOCALES[0], support: null, accountId: operator.account.id }}>
        <ConsoleFrame operator={operator}>
          <OutcomeNotices
            message={given.done && Object.hasOwn(done, given.done) ? done[given.done] : undefined}
            flash={
              flash && flash.resume !== "now" && ownForms.some((one) => formPath(one) === flash.form) ? null : flash
            }
          />
          <QueryNotice errors={errors} shown={queryFields} />
          <FormValues fields={errors} values={Object.keys(errors).length > 0 ? given : {}}>
            {content}
          </FormValues>
        </ConsoleFrame>
      </SiteProvider>
    );
  };
}

/** The parameters of a page's path. @throws AppError not_found for those that nothing has */
export function parseId<Params>(schema: z.ZodType<Params>, params: Record<string, string>): Params {
  const parsed = schema.safeParse(params);
  if (!parsed.success) throw new AppError("not_found");
  return parsed.data;
}

/**
 * The metadata of the page of a thing in a list, with a title such as "1.4.0 – Releases". Throws what `nameOf` throws, unless
 * it says that there is no such thing: then the page says so.
 */
export function titleOf(list: string, nameOf: (input: Pick<Input<unknown>, "ctx" | "params">) => Promise<string>) {
  return async function generateMetadata({ params }: Pick<NextProps, "params">): Promise<Metadata> {
    await requireOperator();
    const name = await nameOf({ ctx: pageContext(), params: await params }).catch((error) => {
      if (isAppError(error) && error.code === "not_found") return null;
      throw error;
    });
    return { title: name === null ? list : { absolute: `${name} – ${list}` } };
  };
}

/** Says which parameters were left out, unless their fields say it. */
function QueryNotice({ errors, shown }: { errors: Fields; shown: readonly string[] }) {
  const texts = Object.entries(errors).flatMap(([name, text]) => (shown.includes(name) ? [] : [`${name}: ${text}`]));
  if (texts.length === 0) return null;
  return <Notice kind="error">This link has filters that the page does not accept. {texts.join(". ")}</Notice>;
}

/** Of a repeated parameter, the first value. */
function toFields(given: Record<string, string | string[] | undefined>): Fields {
  const pairs = Object.entries(given).map(([name, value]) => [name, [value].flat()[0]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => Boolean(pair[1]?.trim())));
}

/** @throws the error, unless it says what is wrong with the request */
function describeError(error: unknown): ReactNode {
  if (!isAppError(error) || error.code === "internal_error" || error.code === "unavailable") throw error;
  if (error.code === "not_found") notFound();
  return (
    <div className="state failed" role="alert">
      <h1 className="state-title">{error.code === "invalid_query" ? "This link is not valid" : "This did not work"}</h1>
      <div>{detailOf(error)}</div>
    </div>
  );
}

function detailOf({ extras, message }: AppError): string {
  const details = (extras.errors ?? []).map(({ pointer, detail }) => `${pointer.replace(/^[?/]/, "")}: ${detail}`);
  return extras.detail ?? (details.length > 0 ? details.join(". ") : message);
}

/** The outcome of the form that led to the page. */
function OutcomeNotices({ message, flash }: { message: string | undefined; flash: Flash | null }) {
  const details = flash ? Object.values(flash.fields).join(". ") : "";
  return (
    <>
      {message && <Notice>{message}</Notice>}
      {flash?.resume && <ResumeForm flash={flash} summary={flash.summary} />}
      {flash && !flash.resume && (
        <Notice kind="error">
          {flash.message} {details}
        </Notice>
      )}
    </>
  );
}
