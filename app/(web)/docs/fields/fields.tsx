"use client";

import { Fragment, type ReactNode } from "react";
import type { Piece } from "./inline";

/** A field of an object, or a parameter. Its own fields are those of an object in it. */
export type FieldInfo = {
  name: string;
  type: Piece[];
  isRequired: boolean;
  /** What it is, with its default and examples. */
  text: Piece[] | ReactNode;
  /** What follows the text: its default and examples. */
  more: Piece[];
  fields: FieldInfo[];
};

/** A list of fields. It renders in the browser from data that is a third as long as its HTML. */
export function FieldList({ fields }: { fields: readonly FieldInfo[] }) {
  if (fields.length === 0) return null;
  return (
    <dl className="fields">
      {fields.map((field) => (
        <div key={field.name}>
          <dt>
            <code>{field.name}</code> <Line pieces={field.type} />{" "}
            {field.isRequired && <span className="tag">required</span>}
          </dt>
          <dd>
            {isPieces(field.text) ? <Line pieces={field.text} /> : field.text}
            <Line pieces={field.more} />
            <FieldList fields={field.fields} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

const isPieces = (text: FieldInfo["text"]): text is Piece[] => Array.isArray(text);

/** A line of text, code and links. */
export function Line({ pieces }: { pieces: readonly Piece[] }) {
  return pieces.map((piece, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces do not change.
    <Fragment key={i}>
      {typeof piece === "string" ? (
        piece
      ) : "code" in piece ? (
        <code>{piece.code}</code>
      ) : (
        <a href={`/docs/schemas#schema-${piece.schema}`}>{piece.schema}</a>
      )}
    </Fragment>
  ));
}
