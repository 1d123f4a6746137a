import pg from 'pg';

/** int8 as BigInt, as Prisma reads it; everything else as `pg` does. */
export const INT8_AS_BIGINT: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? BigInt : (pg.types.getTypeParser(oid, format) as unknown),
};
