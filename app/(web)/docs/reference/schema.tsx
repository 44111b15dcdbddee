import { Fragment, type ReactNode } from "react";
import { nameOf, type Schema } from "./document";
import { Text } from "./text";

type Member = { name: string; required: boolean; schema: Schema; description?: string | undefined };

/** The members of an object, and of those within it that have no name of their own. */
export function Members({ schema }: { schema: Schema }) {
  const { properties = {}, required = [] } = objectWithin(schema);
  const members = Object.entries(properties).map(([name, member]) => ({
    name,
    required: required.includes(name),
    schema: member,
    description: member.description,
  }));
  return members.length === 0 ? null : <MemberList members={members} />;
}

export function MemberList({ members }: { members: Member[] }) {
  return (
    <dl className="members">
      {members.map(({ name, required, schema, description }) => (
        <div key={name}>
          <dt>
            <code>{name}</code> <Type schema={schema} /> {required && <span className="tag">required</span>}
          </dt>
          <dd>
            {description && <Text>{description}</Text>}
            {schema.default !== undefined && typeof schema.default !== "object" && (
              <>
                {" "}
                Without it, <code>{String(schema.default)}</code>.
              </>
            )}
            <Examples of={schema.examples} />
            <Members schema={schema} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Examples({ of = [] }: { of?: unknown[] | undefined }) {
  if (of.length === 0) return null;
  return (
    <>
      {" "}
      Such as <Choices of={of.map((value) => <code key={String(value)}>{JSON.stringify(value)}</code>)} />.
    </>
  );
}

/** A schema's type in words; one with a name leads to it. */
export function Type({ schema }: { schema: Schema }): ReactNode {
  const name = nameOf(schema);
  if (name) return <a href={`#schema-${name}`}>{name}</a>;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return <Choices of={choices.map((choice) => <Type key={JSON.stringify(choice)} schema={choice} />)} />;
  if (schema.const !== undefined) return <code>{JSON.stringify(schema.const)}</code>;
  if (schema.enum) {
    return <Choices of={schema.enum.map((value) => <code key={String(value)}>{JSON.stringify(value)}</code>)} />;
  }
  if (schema.items) {
    return (
      <>
        list of <Type schema={schema.items} />
      </>
    );
  }
  const { type, format, maxLength } = schema;
  const told = [format, maxLength === undefined ? undefined : `at most ${maxLength} characters`].filter(Boolean);
  return `${[type ?? "anything"].flat().join(" or ")}${told.length > 0 ? ` (${told.join(", ")})` : ""}`;
}

function Choices({ of }: { of: ReactNode[] }) {
  return of.map((one, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: nothing is added or moved.
    <Fragment key={i}>
      {i > 0 && " or "}
      {one}
    </Fragment>
  ));
}

/** The object whose members are shown: the schema itself, what its list is of, or the one of its choices that is one. */
function objectWithin(schema: Schema): Schema {
  if (schema.items) return objectWithin(schema.items);
  return schema.anyOf?.find(({ properties }) => properties) ?? schema;
}
