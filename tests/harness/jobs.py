"""The cast of the contract tests: job ids in mint order, a parent and a grandparent, two groups."""

from tests.harness.state import job_number

__all__ = ["BLUE", "GRANDPARENT", "J1", "J2", "J3", "J4", "J5", "J6", "PARENT", "RED"]

J1, J2, J3, J4, J5, J6 = (job_number(number) for number in range(1, 7))
PARENT, GRANDPARENT = job_number(100), job_number(101)
RED, BLUE = "PRT00000000001", "PRT00000000002"
