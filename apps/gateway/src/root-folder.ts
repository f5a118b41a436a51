import { join } from 'node:path';

const isBuilt = import.meta.dirname.includes(join('dist', 'apps'));

/** The root folder of the project. Its distance differs between the build and the sources. */
export const ROOT_FOLDER = join(import.meta.dirname, isBuilt ? '../../../..' : '../../..');
