import { notFound } from "next/navigation";
import { GroupPage } from "../../reference/group-page";
import { findGroup } from "../../reference/groups";

export const isStatic = true;

type Props = { params: Promise<{ subject: string }> };

const groupOf = async ({ params }: Props) => findGroup(`operators/${(await params).subject}`);

export async function generateMetadata(props: Props) {
  return { title: (await groupOf(props))?.title };
}

export default async function Page(props: Props) {
  const group = await groupOf(props);
  return group ? <GroupPage slug={group.slug} /> : notFound();
}
